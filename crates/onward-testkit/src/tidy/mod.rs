//! The house rules that a machine can check. A rule takes text and gives findings; `tests/tidy.rs` feeds it the
//! workspace, and then something made up that must be found.

mod backend;
mod console;
mod dependencies;
mod doc_comments;
mod files;
mod finding;
mod folder_listings;
mod manifest;
mod module_roots;
mod parameters;
mod private_files;
mod source;
mod type_names;

pub use backend::{check_backend, check_store_contract};
pub use console::{ConsoleCommand, check_console, console_commands};
pub use dependencies::{CrateDependencies, check_dependencies, direct_dependencies};
pub use doc_comments::check_doc_comments;
pub use files::{TextFile, text_files, workspace_top};
pub use finding::Breach;
pub use folder_listings::check_folder_listings;
pub use manifest::check_lints;
pub use module_roots::check_module_root;
pub use parameters::check_parameters;
pub use private_files::check_private_files;
pub use source::{FILE_LINES_MAX, check_length, check_paths, check_words};
pub use type_names::check_type_names;
