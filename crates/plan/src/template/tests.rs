//! What templates become.

use super::*;
use proptest::prelude::*;

struct Fixed {
    draw: u64,
    draws: u32,
}

impl TemplateContext for Fixed {
    fn seq(&mut self) -> u64 {
        7
    }
    fn random(&mut self) -> u64 {
        self.draws += 1;
        self.draw
    }
    fn now_ms(&mut self) -> u64 {
        1_700_000_000_123
    }
    fn line(&mut self, file: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(format!("<line of {file}>").as_bytes());
        true
    }
}

/// Every line of a file is this one; without it the file cannot be read.
struct Line(Option<&'static [u8]>);

impl TemplateContext for Line {
    fn seq(&mut self) -> u64 {
        0
    }
    fn random(&mut self) -> u64 {
        0
    }
    fn now_ms(&mut self) -> u64 {
        0
    }
    fn line(&mut self, _: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(self.0.unwrap_or_default());
        self.0.is_some()
    }
}

fn line_in(position: Position, line: &'static [u8]) -> Result<Vec<u8>, Unfit> {
    let mut out = Vec::new();
    let template = Template::compile("a b={line:f}").unwrap();
    template.render(&mut out, &mut Line(Some(line)), position).map(|()| out)
}

fn render(text: &str, draw: u64) -> String {
    let mut out = Vec::new();
    let template = Template::compile(text).unwrap();
    template.render(&mut out, &mut Fixed { draw, draws: 0 }, Position::Body).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_line_of_a_file_can_not_change_the_shape_of_a_request() {
    let target = |line| String::from_utf8(line_in(Position::Target, line).unwrap()).unwrap();
    // What the plan's author wrote stays; what the line brings is encoded.
    assert_eq!(target(b"alice smith"), "a b=alice%20smith");
    assert_eq!(target(b"x HTTP/1.1\r\nEvil: 1"), "a b=x%20HTTP/1.1%0D%0AEvil:%201");
    assert_eq!(target("\u{e9}#\"<>\\^`{|}\u{7f}".as_bytes()), "a b=%C3%A9%23%22%3C%3E%5C%5E%60%7B%7C%7D%7F");
    // Reserved characters are the line's own affair, and what is encoded already stays so.
    assert_eq!(target(b"p/q?r=s&t=%20%4a%zz%"), "a b=p/q?r=s&t=%20%4a%25zz%25");
    for bad in [&b"a\rEvil: 1"[..], b"a\nb", b"a\0", b"\x1b[0m", b"\x7f"] {
        assert_eq!(line_in(Position::Field, bad), Err(Unfit::Control { file: 0 }));
        assert_eq!(line_in(Position::Body, bad).unwrap(), [b"a b=", bad].concat());
    }
    assert_eq!(line_in(Position::Field, b"a\tb \xe9").unwrap(), b"a b=a\tb \xe9");
    let lost =
        Template::compile("{line:f}").unwrap().render(&mut Vec::new(), &mut Line(None), Position::Body);
    assert_eq!(lost, Err(Unfit::Unreadable { file: 0 }));
}

#[test]
fn a_file_that_was_not_written_for_placeholders_keeps_its_braces() {
    let fill = |text: &str| {
        let mut out = Vec::new();
        let template = Template::compile_loosely(text, &mut Vec::new());
        template.render(&mut out, &mut Fixed { draw: 0, draws: 0 }, Position::Body).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(fill("{\"id\": {seq}, \"{{seq}}\": 1}"), "{\"id\": 7, \"{seq}\": 1}");
    for text in ["if(x){return}", "{{name}}", "{sqe}", "{random}", "{random:oct:3}", "{now:1}"] {
        assert_eq!(fill(text), text);
        assert_eq!(Template::compile_loosely(text, &mut Vec::new()).constant(), Some(text.as_bytes()));
    }
}

#[test]
fn fills_every_placeholder() {
    assert_eq!(render("/{seq}/{now_ms}", 0), "/7/1700000000123");
    assert_eq!(render("/{seq:8}/{seq:1}", 0), "/00000007/7");
    assert_eq!(render("{line:a.txt}{line:b}{line:a.txt}", 0), "<line of 0><line of 1><line of 0>");
    // 16 hexadecimal digits of a draw are the draw itself.
    assert_eq!(render("{random:hex:16}", 0x0123_4567_89ab_cdef), "0123456789abcdef");
    assert_eq!(render("{random:hex:3}", 0xabc0_0000_0000_0000), "abc");
    // Half of 2⁶⁴ is the fraction 0.5: digits 5, 0, 0 in base ten; 31 ('V'), 0 in base 62.
    assert_eq!(render("{random:dec:3}", 1 << 63), "500");
    assert_eq!(render("{random:alnum:2}", 1 << 63), "V0");
    assert_eq!(render("{uuid}", u64::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    assert_eq!(render("{uuid}", 0), "00000000-0000-4000-8000-000000000000");
}

#[test]
fn long_randoms_draw_again() {
    let mut context = Fixed { draw: 1, draws: 0 };
    let mut out = Vec::new();
    Template::compile("{random:dec:20}").unwrap().render(&mut out, &mut context, Position::Body).unwrap();
    assert_eq!((out.len(), context.draws), (20, 3));
}

#[test]
fn json_passes_untouched() {
    for text in [
        r#"{"a":1}"#,
        r#"{"a":{"b":{}}}"#,
        r#"[{ "x": "{}" }, {}]"#,
        "{",
        "}}",
        "{{",
        "{A}",
        "{a b}",
        "{seq",
        "{:x}",
        "{x:{}",
    ] {
        assert_eq!(render(text, 0), text);
        assert_eq!(Template::compile(text).unwrap().constant(), Some(text.as_bytes()));
    }
    assert_eq!(render(r#"{"id":{"n":{seq}}}"#, 0), r#"{"id":{"n":7}}"#);
}

#[test]
fn doubled_braces_are_the_text_itself() {
    assert_eq!(render("{{seq}} {seq} {{nonsense:x}}", 0), "{seq} 7 {nonsense:x}");
}

#[test]
fn unknown_placeholders_are_errors_with_column_and_suggestion() {
    for (text, column, expected) in [
        ("/é/{sqe}", 4, "{seq}, or {{sqe}} for the text itself"),
        (
            "{now}",
            1,
            "{seq}, {uuid}, {now_ms}, {random:hex:16} or {line:FILE}, or {{now}} for the text itself",
        ),
        ("{random}", 1, RANDOM),
        ("{random:hex}", 1, RANDOM),
        ("{random:hex:0}", 1, RANDOM),
        ("{random:oct:3}", 1, RANDOM),
        ("{line:}", 1, "{line:FILE}"),
        ("x{seq:0}", 2, "{seq}, or {seq:8} for at least 8 digits"),
    ] {
        let error = Template::compile(text).unwrap_err();
        assert_eq!((error.column, error.expected.as_str()), (column, expected), "{text}");
    }
}

proptest! {
    #[test]
    fn never_panics(text in "[{}a-z:0-9\"é ]{0,40}") {
        if let Ok(template) = Template::compile(&text) {
            template.render(&mut Vec::new(), &mut Fixed { draw: 5, draws: 0 }, Position::Target).unwrap();
        }
    }
}
