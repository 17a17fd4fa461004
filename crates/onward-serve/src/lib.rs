//! Front ends for programs, over [`onward_engine::Onward`] only. The one crate with an async runtime; what an attempt or a hook
//! starts never comes here.

pub mod mcp;
