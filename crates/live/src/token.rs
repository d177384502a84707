//! What a viewer must know where others could reach the page.

use crate::LiveError;
use std::hint::black_box;

/// A shared secret. Shown nowhere but in the URL that is printed at the start.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(***)")
    }
}

impl Token {
    /// The token itself, or `@FILE` which has it.
    pub fn read(typed: &str) -> Result<Self, LiveError> {
        let Some(file) = typed.strip_prefix('@') else { return Self::new(typed) };
        let text = os::input::read_to_string(file.as_ref())
            .map_err(|error| LiveError::TokenFile { file: file.to_owned(), error })?;
        Self::new(text.trim())
    }

    fn new(text: &str) -> Result<Self, LiveError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
        match text.len() {
            0..12 => Err(LiveError::Token("is so short that it can be guessed")),
            201.. => Err(LiveError::Token("is too long")),
            _ if !text.bytes().all(is_plain) => {
                Err(LiveError::Token("has characters that a URL would change"))
            }
            _ => Ok(Self(text.to_owned())),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether this is it. Takes as long whichever letter is wrong.
    pub(crate) fn is(&self, offered: &str) -> bool {
        let (own, offered) = (self.0.as_bytes(), offered.as_bytes());
        let wrong = (0..own.len()).fold(own.len() ^ offered.len(), |wrong, index| {
            black_box(wrong | usize::from(own[index] ^ offered.get(index).copied().unwrap_or(0)))
        });
        wrong == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_plain() {
        assert!(Token::read("0123456789ab").is_ok());
        for wrong in ["", "short", "0123456789a;", "0123456789ä", &"x".repeat(201)] {
            assert!(matches!(Token::read(wrong), Err(LiveError::Token(_))), "{wrong}");
        }
        assert!(matches!(Token::read("@/nowhere"), Err(LiveError::TokenFile { .. })));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0123456789ab\n").unwrap();
        let read = Token::read(&format!("@{}", file.path().display())).unwrap();
        assert!(read.is("0123456789ab"));
    }

    #[test]
    fn only_the_whole_token_is_it() {
        let token = Token::read("0123456789ab").unwrap();
        assert!(token.is("0123456789ab"));
        for wrong in ["", "0123456789a", "0123456789abc", "0123456789aB", "x123456789ab"] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "Token(***)");
    }
}
