//! Words with a meaning: a key that takes one of a few words, as a type.

/// Declares an enum whose variants are words of a plan or a configuration: the checker, the reader, the schema and what is
/// stored all spell them the same way.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// As they are written, in the order of the variants.
            pub(crate) const WORDS: &'static [&'static str] = &[$($word,)+];
        }

        impl $crate::document::word::Word for $name {
            fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use words;

/// A type made by [`words`].
pub(crate) trait Word: Sized {
    fn from_word(word: &str) -> Option<Self>;
}
