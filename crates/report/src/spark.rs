//! A line of Unicode blocks: the shape of a series at a glance.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One character for each value, from 0 to the largest; a space where there is nothing at all. At most `width`
/// characters: neighbours share one, which shows the one that `pick` prefers.
pub fn line(values: &[u64], width: usize, pick: fn(u64, u64) -> u64) -> String {
    let values = squeeze(values, width, pick);
    let most = values.iter().copied().max().unwrap_or(0);
    values.into_iter().map(|value| block(value, most)).collect()
}

fn block(value: u64, most: u64) -> char {
    if value == 0 || most == 0 {
        return ' ';
    }
    // 1..=most onto 0..=7.
    let level = (u128::from(value) * 8).div_ceil(u128::from(most)) - 1;
    BLOCKS[(level as usize).min(7)]
}

/// At most `width` values, each picked from the same number of neighbours.
pub fn squeeze(values: &[u64], width: usize, pick: fn(u64, u64) -> u64) -> Vec<u64> {
    let each = values.len().div_ceil(width.max(1)).max(1);
    values.chunks(each).filter_map(|chunk| chunk.iter().copied().reduce(pick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighths() {
        assert_eq!(line(&[0, 1, 2, 3, 4, 5, 6, 7, 8], 20, u64::max), " ▁▂▃▄▅▆▇█");
        assert_eq!(line(&[5, 5], 20, u64::max), "██");
        assert_eq!(line(&[0, 0], 20, u64::max), "  ");
        assert_eq!(line(&[], 20, u64::max), "");
        assert_eq!(line(&[u64::MAX, 1], 20, u64::max), "█▁");
    }

    #[test]
    fn never_wider_than_asked_and_extremes_stay() {
        let values: Vec<u64> = (0..1_000).map(|n| if n == 500 { 100 } else { 1 }).collect();
        let drawn = line(&values, 60, u64::max);
        // ceil(1000 / 60) = 17 a character, ceil(1000 / 17) = 59 characters.
        assert_eq!(drawn.chars().count(), 59);
        assert!(drawn.contains('█'));
    }
}
