//! How many lines came and went between two texts.

/// Lines that may differ before the count is given up: beyond this nobody reads the number as more than "a lot".
const DIFFERENT_LINES_MAX: usize = 2_000;

/// Lines that the new text has more and the old one had, as few of both as possible. None for what is not text, and where
/// next to nothing is the same.
pub fn lines_changed(old: &[u8], new: &[u8]) -> Option<(u64, u64)> {
    if old.contains(&0) || new.contains(&0) {
        return None;
    }
    let (old, new) = (lines(old), lines(new));
    let same_at_the_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same_at_the_start..], &new[same_at_the_start..]);
    let same_at_the_end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - same_at_the_end], &new[..new.len() - same_at_the_end]);
    let different = if old.is_empty() || new.is_empty() { old.len() + new.len() } else { shortest_way(old, new)? };
    let same = (old.len() + new.len() - different) / 2;
    Some(((new.len() - same) as u64, (old.len() - same) as u64))
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

/// The number of lines to take away and to add on the shortest way from one text to the other (Myers): for each number, how far
/// one gets on each diagonal.
fn shortest_way(old: &[&[u8]], new: &[&[u8]]) -> Option<usize> {
    let most = (old.len() + new.len()).min(DIFFERENT_LINES_MAX);
    // A diagonal is the lead of the new text over the old one; the middle of the list is none.
    let mut reached = vec![0_usize; 2 * most + 3];
    for different in 0..=most {
        for step in 0..=different {
            let diagonal = most + 1 + 2 * step - different;
            let adds = step == 0 || (step < different && reached[diagonal - 1] < reached[diagonal + 1]);
            let mut from_old = if adds { reached[diagonal + 1] } else { reached[diagonal - 1] + 1 };
            let mut from_new = (from_old + most + 1).checked_sub(diagonal)?;
            while from_old < old.len() && from_new < new.len() && old[from_old] == new[from_new] {
                (from_old, from_new) = (from_old + 1, from_new + 1);
            }
            reached[diagonal] = from_old;
            if from_old >= old.len() && from_new >= new.len() {
                return Some(different);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The longest common part, by the book.
    fn by_the_book(old: &[&[u8]], new: &[&[u8]]) -> usize {
        let mut best = vec![vec![0; new.len() + 1]; old.len() + 1];
        for (i, a) in old.iter().enumerate() {
            for (j, b) in new.iter().enumerate() {
                best[i + 1][j + 1] = if a == b { best[i][j] + 1 } else { best[i][j + 1].max(best[i + 1][j]) };
            }
        }
        best[old.len()][new.len()]
    }

    proptest! {
        #[test]
        fn as_few_as_possible(old in "[abc\n]{0,40}", new in "[abc\n]{0,40}") {
            let (old, new) = (old.as_bytes(), new.as_bytes());
            let same = by_the_book(&lines(old), &lines(new));
            let expected = ((lines(new).len() - same) as u64, (lines(old).len() - same) as u64);
            prop_assert_eq!(lines_changed(old, new), Some(expected));
        }
    }

    #[test]
    fn what_is_not_text_has_no_lines() {
        assert_eq!(lines_changed(b"a\0b", b"a"), None);
        let (many, others) = ("a\n".repeat(3_000), "b\n".repeat(3_000));
        assert_eq!(lines_changed(many.as_bytes(), others.as_bytes()), None);
        assert_eq!(lines_changed(b"", b"a\nb\n"), Some((2, 0)));
    }
}
