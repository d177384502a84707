//! A grid of letters on which lines are drawn, eight dots (two by four) to a letter where there are braille
//! letters.

use crate::chart::Tone;

/// Which letters there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Letters {
    /// Braille and blocks.
    #[default]
    Unicode,
    /// For terminals and files that know no more.
    Ascii,
}

impl Letters {
    /// How full a cell is, from nothing to full.
    pub const fn shades(self) -> &'static [char] {
        match self {
            Self::Unicode => &[' ', '░', '▒', '▓', '█'],
            Self::Ascii => &[' ', '.', ':', 'o', '#'],
        }
    }

    /// Dots in a letter, across and down.
    const fn dots(self) -> (usize, usize) {
        match self {
            Self::Unicode => (2, 4),
            Self::Ascii => (1, 1),
        }
    }

    /// `text` without letters that are not there.
    pub fn spell(self, text: &str) -> String {
        if self == Self::Unicode {
            return text.to_owned();
        }
        let spelt = |letter: char| match letter {
            'µ' => "u".to_owned(),
            '–' | '−' => "-".to_owned(),
            '«' | '»' | '“' | '”' => "\"".to_owned(),
            '’' => "'".to_owned(),
            '…' => "...".to_owned(),
            other if other.is_ascii() => other.to_string(),
            _ => "?".to_owned(),
        };
        text.chars().map(spelt).collect()
    }
}

/// Bits of the braille letter (from U+2800 on), by row and column of the dot.
const BRAILLE: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cell {
    dots: u8,
    letter: Option<char>,
    tone: Option<Tone>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Canvas {
    columns: usize,
    rows: usize,
    letters: Letters,
    cells: Vec<Cell>,
}

impl Canvas {
    pub fn new(columns: usize, rows: usize, letters: Letters) -> Self {
        let (columns, rows) = (columns.max(1), rows.max(1));
        Self { columns, rows, letters, cells: vec![Cell::default(); columns * rows] }
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    fn cell(&mut self, column: usize, row: usize) -> Option<&mut Cell> {
        (column < self.columns && row < self.rows).then(|| &mut self.cells[row * self.columns + column])
    }

    /// Puts a letter; row 0 is at the top.
    pub fn put(&mut self, column: usize, row: usize, letter: char, tone: Option<Tone>) {
        if let Some(cell) = self.cell(column, row) {
            *cell = Cell { dots: 0, letter: Some(letter), tone };
        }
    }

    /// The dot for a place, both from 0 to 1; (0, 0) is at the left foot.
    fn dot_of(&self, (x, y): (f64, f64)) -> (i64, i64) {
        let (across, down) = self.letters.dots();
        let (width, height) = ((self.columns * across - 1) as f64, (self.rows * down - 1) as f64);
        ((x * width).round() as i64, ((1.0 - y) * height).round() as i64)
    }

    fn dot(&mut self, (x, y): (i64, i64), mark: char, tone: Tone) {
        let (across, down) = self.letters.dots();
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return };
        let is_unicode = self.letters == Letters::Unicode;
        let Some(cell) = self.cell(x / across, y / down) else { return };
        cell.tone = Some(tone);
        if is_unicode {
            cell.dots |= BRAILLE[y % down][x % across];
        } else {
            cell.letter = Some(mark);
        }
    }

    /// A straight line between two places; `mark` where there are no dots.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), mark: char, tone: Tone) {
        let ((x0, y0), (x1, y1)) = (self.dot_of(from), self.dot_of(to));
        let steps = (x1 - x0).abs().max((y1 - y0).abs());
        for step in 0..=steps {
            let part = |a: i64, b: i64| match steps {
                0 => a,
                steps => a + ((b - a) * step * 2 + steps * (b - a).signum()) / (steps * 2),
            };
            self.dot((part(x0, x1), part(y0, y1)), mark, tone);
        }
    }

    /// The letters of a row and their tones.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (char, Option<Tone>)> {
        let braille = |dots: u8| char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ');
        self.cells[row * self.columns..(row + 1) * self.columns].iter().map(move |cell| match cell.letter {
            Some(letter) => (letter, cell.tone),
            None if cell.dots == 0 => (' ', None),
            None => (braille(cell.dots), cell.tone),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(canvas: &Canvas) -> Vec<String> {
        (0..canvas.rows()).map(|row| canvas.row(row).map(|(letter, _)| letter).collect()).collect()
    }

    #[test]
    fn a_line_goes_from_corner_to_corner() {
        let mut canvas = Canvas::new(5, 5, Letters::Ascii);
        canvas.line((0.0, 0.0), (1.0, 1.0), 'a', Tone::Quiet);
        assert_eq!(text(&canvas), ["    a", "   a ", "  a  ", " a   ", "a    "]);
    }

    #[test]
    fn a_letter_has_eight_dots() {
        // Left foot to right top of one letter: dots 7 (0x40), 3 (0x04), 5 (0x10), 4 (0x08).
        let mut canvas = Canvas::new(1, 1, Letters::Unicode);
        canvas.line((0.0, 0.0), (1.0, 1.0), 'a', Tone::Quiet);
        let letter = text(&canvas)[0].chars().next().unwrap();
        assert_eq!(letter as u32 - 0x2800, 0x40 | 0x04 | 0x10 | 0x08);
    }

    #[test]
    fn what_lies_outside_is_not_drawn() {
        let mut canvas = Canvas::new(2, 2, Letters::Ascii);
        canvas.put(5, 0, 'x', None);
        canvas.put(0, 5, 'x', None);
        assert_eq!(text(&canvas), ["  ", "  "]);
    }

    #[test]
    fn ascii_is_ascii() {
        assert_eq!(Letters::Ascii.spell("12 µs – «x»"), "12 us - \"x\"");
        assert!(Letters::Ascii.shades().iter().all(char::is_ascii));
    }
}
