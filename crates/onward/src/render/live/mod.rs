//! The live view of a run at the bottom of a terminal: `lines` says how it looks, `painter` brings it to the screen, `terminal` knows
//! the screen, `area` is what the reporter of a run sees of it.

mod area;
mod lines;
mod painter;
mod terminal;

pub(super) use area::LiveArea;
pub(crate) use area::hide_while;
pub(super) use painter::Painter;

#[cfg(test)]
mod tests;
