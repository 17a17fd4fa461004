//! Secrets in files that are written in UTF-16, in either order of bytes.

use std::borrow::Cow;

use super::Secrets;

impl Secrets {
    /// Whether the content of a file holds a secret, also as text in UTF-16. A file may say by its first bytes that it is such text, and
    /// need not.
    pub(crate) fn are_in_file(&self, content: &[u8]) -> bool {
        let places = [content, content.get(1..).unwrap_or_default()];
        let wide = |order: &Order| places.iter().any(|bytes| self.are_in(&narrow(bytes, *order)));
        self.are_in(content) || (may_be_wide(content) && ORDERS.iter().any(wide))
    }

    fn are_in(&self, bytes: &[u8]) -> bool {
        matches!(self.bytes(bytes), Cow::Owned(_))
    }
}

type Order = fn([u8; 2]) -> u16;

const ORDERS: [Order; 2] = [u16::from_le_bytes, u16::from_be_bytes];

/// Every letter of a token is one byte beside a zero.
fn may_be_wide(content: &[u8]) -> bool {
    content.contains(&0)
}

/// The same text in UTF-8; what is none becomes a sign that is in no secret.
fn narrow(content: &[u8], order: Order) -> Vec<u8> {
    let units = content.chunks_exact(2).map(|two| order([two[0], two[1]]));
    let letters = char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER));
    letters.collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An editor saves a secret in UTF-16, in either order, with a mark at the beginning and without, and behind one odd byte. It is
    /// found, and a picture and another text are no secrets.
    #[test]
    fn secrets_are_found_in_wide_text() {
        let secrets = Secrets::new(&["staple-4711-mangö".as_bytes().to_vec()]);
        let wide = |text: &str, order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        for text in ["\u{feff}a: staple-4711-mangö\n", "staple-4711-mangö", "AKIAIOSFODNN7EXAMPLQ"] {
            assert!(secrets.are_in_file(text.as_bytes()));
            assert!(secrets.are_in_file(&wide(text, u16::to_le_bytes)), "{text}");
            assert!(secrets.are_in_file(&wide(text, u16::to_be_bytes)), "{text}");
        }
        let shifted = [b"x".to_vec(), wide("AKIAIOSFODNN7EXAMPLQ\n", u16::to_le_bytes)].concat();
        assert!(secrets.are_in_file(&shifted));
        assert!(!secrets.are_in_file(&wide("staple-4711-mangos", u16::to_le_bytes)));
        assert!(!secrets.are_in_file(&(0..=u8::MAX).cycle().take(4096).collect::<Vec<_>>()));
    }
}
