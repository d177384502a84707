//! Parts of charts.

use std::fmt::Write as _;

/// A line across the plot at height `at`, with what it stands for at its left end.
pub fn grid_line(svg: &mut String, (left, right): (f64, f64), at: f64, label: &str) {
    let _ = writeln!(
        svg,
        "<line x1=\"{left}\" x2=\"{right:.0}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
         <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
        left - 6.0,
        at + 4.0
    );
}
