//! The loads above each other, each with its own scale, along one line of seconds.

use std::fmt::Write as _;

use crate::Load;
use crate::svg::grid_line;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 110.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 50.0;
const BETWEEN: f64 = 36.0;
const COLOURS: [&str; 3] = ["#c8553d", "#1f6f8b", "#777777"];

pub fn draw(loads: &[Load], seconds: usize) -> String {
    let bottom = TOP + loads.len() as f64 * (HEIGHT + BETWEEN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">Requests in each second, from nginx's log</text>\n",
        LEFT + WIDTH + 20.0,
        bottom + 14.0
    );
    let wide = WIDTH / seconds as f64;
    for ((place, load), colour) in loads.iter().enumerate().zip(COLOURS) {
        let top = TOP + place as f64 * (HEIGHT + BETWEEN);
        let most = load.seconds.iter().copied().max().unwrap_or(0);
        let tick = round_tick(most);
        let y = |count: u64| top + HEIGHT * (1.0 - count as f64 / (tick * 2).max(most) as f64);
        for step in 0..=2 {
            grid_line(&mut svg, (LEFT, LEFT + WIDTH), y(tick * step), &(tick * step).to_string());
        }
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"{colour}\" font-weight=\"bold\">{}</text>",
            top - 8.0,
            load.name
        );
        for (second, count) in load.seconds.iter().enumerate() {
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
                LEFT + second as f64 * wide + 1.0,
                y(*count),
                wide - 2.0,
                top + HEIGHT - y(*count)
            );
        }
    }
    for second in (0..=seconds).step_by(seconds.div_ceil(10).max(1)) {
        let x = LEFT + second as f64 * wide;
        let _ = writeln!(
            svg,
            "<text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{second} s</text>",
            bottom - 14.0
        );
    }
    svg + "</svg>\n"
}

/// Half of the most, rounded to one digit.
fn round_tick(most: u64) -> u64 {
    let half = (most / 2).max(1);
    let unit = 10_u64.pow(half.ilog10());
    half / unit * unit
}
