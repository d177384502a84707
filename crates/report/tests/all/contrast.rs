//! Text of the page can be read: WCAG 2.1 §1.4.3 asks for a contrast of 4.5 : 1, §1.4.11 for 3 : 1 of lines.

const STYLE: &str = include_str!("../../src/report.css");

/// Value of `--name` in the light (first) or dark (second) theme.
fn color(name: &str, dark: bool) -> [f64; 3] {
    let found = STYLE.split(&format!("--{name}: #")).nth(1 + usize::from(dark));
    let hex = found.unwrap_or_else(|| panic!("--{name} is not there twice"));
    [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("two hex digits")) / 255.0)
}

/// Relative luminance.
fn luminance(color: [f64; 3]) -> f64 {
    let linear = |c: f64| if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
    let [r, g, b] = color.map(linear);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn the_formula_is_that_of_wcag() {
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
    // #767676 on white is known as the lightest grey that passes: 4.54.
    assert!((contrast([118.0 / 255.0; 3], [1.0; 3]) - 4.54).abs() < 0.01);
}

#[test]
fn text_and_lines_can_be_seen_in_both_themes() {
    for dark in [false, true] {
        for ground in ["bg", "card", "tint"] {
            for text in ["ink", "soft", "good", "doubt", "bad"] {
                let found = contrast(color(text, dark), color(ground, dark));
                assert!(found >= 4.5, "{text} on {ground}, dark {dark}: {found:.2}");
            }
        }
        for ground in ["card", "warm"] {
            for line in ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "heat"] {
                let found = contrast(color(line, dark), color(ground, dark));
                assert!(found >= 3.0, "{line} on {ground}, dark {dark}: {found:.2}");
            }
        }
    }
}
