//! Text: measuring, cutting, cleaning.
//!
//! Every limit of the prompt engine is kept by a function of this module, and each of them says what it took away.
//! Nothing here knows of sections, files or turns.

mod boundary;
pub mod cut;
mod fence;
pub mod hex;
pub mod hidden;
pub mod inline;
pub mod measure;
mod number;
pub mod shares;
pub mod tags;
pub mod xml;

pub use boundary::{grapheme_ceiling, grapheme_floor, shorten};
pub use number::{byte_size, clamped, thousands};
