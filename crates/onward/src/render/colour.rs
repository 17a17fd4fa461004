//! Whether anything is printed in colour; which colours there are stands in `paint`.

use crate::args::Color;

/// `NO_COLOR`, `CLICOLOR_FORCE` and the kind of the terminal decide unless the flag does.
pub(crate) fn choose(when: Color) {
    match when {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
}
