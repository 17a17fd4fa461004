//! The house rules, checked on the workspace; and each of them on something made up that breaks it.

use std::path::PathBuf;
use std::process::Command;

use onward_testkit::tidy::{self, Breach, CrateDependencies, FILE_LINES_MAX, TextFile};

fn top() -> PathBuf {
    tidy::workspace_top(env!("CARGO_MANIFEST_DIR"))
}

fn files(wanted: impl Fn(&str) -> bool) -> Vec<TextFile> {
    let files: Vec<TextFile> = tidy::text_files(&top()).into_iter().filter(|file| wanted(&file.path)).collect();
    assert!(!files.is_empty(), "a rule that looks at no file holds nothing");
    files
}

fn is_rust(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".rs")
}

#[track_caller]
fn none(findings: impl IntoIterator<Item = Breach>) {
    let lines: Vec<String> = findings.into_iter().map(|finding| finding.to_string()).collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}

/// A file that exists in the test only.
fn made_up(path: &str, text: impl Into<String>) -> TextFile {
    TextFile { path: path.to_owned(), text: text.into() }
}

fn made_up_crate(name: &str, normal: &[&str]) -> CrateDependencies {
    let normal = normal.iter().map(|&name| name.to_owned()).collect();
    CrateDependencies { name: name.to_owned(), normal, ..CrateDependencies::default() }
}

#[test]
fn every_crate_stays_within_its_walls() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
    let done = Command::new(cargo).args(arguments).current_dir(top()).output().expect("cargo starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let crates = tidy::direct_dependencies(&String::from_utf8_lossy(&done.stdout));
    assert!(crates.len() >= 5, "the workspace has five crates at least");
    none(tidy::check_dependencies(&crates));
}

#[test]
fn a_dependency_through_a_wall_is_found() {
    let found = tidy::check_dependencies(&[made_up_crate("onward-core", &["serde", "rusqlite"])]);
    assert_eq!(found.len(), 1);
    assert!(found[0].message.contains("`rusqlite`"), "{}", found[0]);
}

#[test]
fn a_dependency_upwards_is_found() {
    let found = tidy::check_dependencies(&[made_up_crate("onward-store", &["onward-engine"])]);
    assert!(found.iter().any(|finding| finding.message.contains("stands above it")), "{found:?}");
}

#[test]
fn the_testkit_inside_the_product_is_found() {
    let found = tidy::check_dependencies(&[made_up_crate("onward", &["onward-testkit"])]);
    assert!(found.iter().any(|finding| finding.message.contains("for tests only")), "{found:?}");
}

#[test]
fn a_crate_without_a_place_is_found() {
    assert_eq!(tidy::check_dependencies(&[made_up_crate("onward-extra", &[])]).len(), 1);
}

#[test]
fn the_kinds_of_dependencies_are_told_apart() {
    let metadata = r#"{"packages": [{"name": "onward-core", "dependencies": [
        {"name": "serde", "kind": null}, {"name": "tempfile", "kind": "dev"}, {"name": "cc", "kind": "build"}]}]}"#;
    let crates = tidy::direct_dependencies(metadata);
    assert_eq!(crates[0].normal, ["serde"]);
    let found: Vec<String> = tidy::check_dependencies(&crates).into_iter().map(|finding| finding.message).collect();
    assert_eq!(
        found,
        [
            "`tempfile` is not allowed as a dev-dependency of this crate",
            "`cc` is not allowed as a build-dependency of this crate"
        ]
    );
}

#[test]
fn no_file_is_longer_than_a_sitting() {
    let sources = files(|path| is_rust(path) && path.contains("/src/"));
    none(sources.iter().filter_map(tidy::check_length));
}

#[test]
fn a_long_file_is_found_and_its_tests_are_not_counted() {
    let body = "line\n".repeat(FILE_LINES_MAX);
    assert_eq!(tidy::check_length(&made_up("a.rs", format!("{body}#[cfg(test)]\n{body}"))), None);
    assert!(tidy::check_length(&made_up("a.rs", format!("{body}line\n#[cfg(test)]\n"))).is_some());
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let manifests = files(|path| path.starts_with("crates/") && path.ends_with("/Cargo.toml"));
    none(manifests.iter().flat_map(tidy::check_lints));
}

#[test]
fn a_crate_without_the_lints_is_found() {
    assert_eq!(tidy::check_lints(&made_up("Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n")), []);
    assert_eq!(tidy::check_lints(&made_up("Cargo.toml", "[package]\nworkspace = true\n\n[lints]\n")).len(), 1);
}

#[test]
fn nothing_is_left_for_later_or_silenced_without_a_reason() {
    none(files(is_rust).iter().flat_map(tidy::check_words));
}

#[test]
fn unfinished_and_silenced_code_is_found() {
    let words = [
        concat!("to", "do!()"),
        concat!("unimplemen", "ted!()"),
        concat!("// FIX", "ME"),
        concat!("#[al", "low(dead_code)]"),
        concat!("#![al", "low(dead_code)]"),
    ];
    for word in words {
        let found = tidy::check_words(&made_up("a.rs", format!("fn a() {{}}\n{word}\n")));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [Some(2)], "{word}");
    }
    assert_eq!(tidy::check_words(&made_up("a.rs", "#[expect(dead_code, reason = \"used by tests\")]\n")), []);
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    none(files(|_| true).iter().flat_map(tidy::check_paths));
}

#[test]
fn a_path_of_one_machine_is_found() {
    for folder in ["root", "work", "home"] {
        assert_eq!(tidy::check_paths(&made_up("a.md", format!("see `/{folder}/a`\n"))).len(), 1, "{folder}");
        assert_eq!(tidy::check_paths(&made_up("a.md", format!("see `src/{folder}/a`\n"))), [], "{folder}");
    }
}

#[test]
fn documents_show_commands_that_exist() {
    none(files(|path| path.to_ascii_lowercase().ends_with(".md")).iter().flat_map(tidy::check_console));
    let readme = files(|path| path == "README.md");
    assert!(!tidy::console_commands(&readme[0].text).is_empty(), "the README shows how it is used");
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let found = tidy::check_console(&made_up("a.md", "```console\n$ onward run\n$ onward frobnicate\n```\n"));
    assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [Some(3)]);
}

#[test]
fn nothing_is_written_past_links() {
    none(files(is_rust).iter().flat_map(tidy::check_private_files));
}

#[test]
fn a_write_that_follows_links_is_found() {
    let text = "fn a() {\n    fs::write(path, text);\n}\n#[cfg(test)]\nmod tests { fn b() { File::create(path); } }\n";
    let found = tidy::check_private_files(&made_up("crates/onward-engine/src/made_up.rs", text));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].line, Some(2));
    assert_eq!(tidy::check_private_files(&made_up("crates/onward/src/made_up.rs", text)), []);
}

#[test]
fn folders_are_read_to_the_first_error() {
    none(files(is_rust).iter().flat_map(tidy::check_folder_listings));
}

#[test]
fn a_folder_that_is_read_elsewhere_is_found() {
    let text = "fn a() {\n    for it in fs::read_dir(path).flatten() {}\n}\n#[cfg(test)]\nmod tests { fn b() { fs::read_dir(path); } }\n";
    let found = tidy::check_folder_listings(&made_up("crates/onward-engine/src/made_up.rs", text));
    assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [Some(2)], "{found:?}");
    assert_eq!(tidy::check_folder_listings(&made_up("crates/onward-store/src/listing.rs", text)), []);
}

#[test]
fn only_the_store_knows_its_database() {
    none(files(|path| is_rust(path) && path.contains('/')).iter().flat_map(tidy::check_backend));
}

#[test]
fn a_backend_that_is_named_elsewhere_is_found() {
    let text = "use onward_store::{Store, SqliteStore};\n\nfn a(of: rusqlite::Error) {}\n// SQLite may be named in a sentence.\n";
    let found = tidy::check_backend(&made_up("crates/onward-engine/src/made_up.rs", text));
    assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [Some(1), Some(3)], "{found:?}");
    assert_eq!(tidy::check_backend(&made_up("crates/onward-store/src/lib.rs", text)).len(), 2);
    assert_eq!(tidy::check_backend(&made_up("crates/onward-store/src/sqlite/made_up.rs", text)), []);
}

#[test]
fn module_roots_are_tables_of_contents() {
    none(files(is_rust).iter().flat_map(tidy::check_module_root));
}

#[test]
fn logic_in_a_module_root_is_found() {
    let text =
        "mod a;\npub use a::A;\nfn b() {}\npub(crate) fn c() {}\nimpl A {\n    pub const fn d() {}\n}\npub enum E {}\n";
    let found = tidy::check_module_root(&made_up("crates/onward-core/src/a/mod.rs", text));
    let lines: Vec<Option<usize>> = found.iter().map(|finding| finding.line).collect();
    assert_eq!(lines, [Some(3), Some(4), Some(5), Some(6), Some(8)], "{found:?}");
    assert_eq!(tidy::check_module_root(&made_up("crates/onward-core/src/a.rs", text)), []);
}

#[test]
fn a_type_has_one_name() {
    none(tidy::check_type_names(&files(|path| is_rust(path) && path.contains("/src/"))));
}

#[test]
fn a_name_of_two_types_is_found() {
    let one = made_up(
        "crates/onward-core/src/a.rs",
        "words! {\n    pub(crate) struct Same<T>(T);\n}\nenum Other {}\ntype Result = ();\n",
    );
    let two = made_up(
        "crates/onward-store/src/b.rs",
        "pub enum Same {}\nimpl A {\n    type Other = ();\n}\ntype Result = u8;\n#[cfg(test)]\nmod tests {}\nenum Other {}\n",
    );
    let found = tidy::check_type_names(&[one, two]);
    assert_eq!(found.iter().map(|breach| breach.line).collect::<Vec<_>>(), [Some(1)], "{found:?}");
}

#[test]
fn no_parameter_is_a_bare_yes_or_no() {
    none(files(is_rust).iter().flat_map(tidy::check_parameters));
}

#[test]
fn a_bool_parameter_is_found() {
    // Put together here, so that this file may be checked like any other.
    let text = "fn a(b: BOOL) {}
fn visit_bool(yes: BOOL) {}
fn c<F: Fn() -> BOOL>(d: F, e: impl Fn(u8, BOOL) -> BOOL) -> BOOL {}
fn f<T>(
    g: &[BOOL],
    h: Option<BOOL>,
) {}
fn i((j, k): (u8, BOOL)) {} // fn l(m: BOOL)
fn n(o: &mut BOOL) {}
fn p(r: &[(BOOL, u8)], q: [BOOL; 3], boolean: Boolean) -> Vec<BOOL> {}
"
    .replace("BOOL", "bool");
    let found = tidy::check_parameters(&made_up("crates/onward-core/src/a.rs", text));
    assert_eq!(found.iter().map(|breach| breach.line).collect::<Vec<_>>(), [1, 4, 8, 9].map(Some), "{found:?}");
}

#[test]
fn the_contract_of_a_store_stays_small() {
    let contract = files(|path| path == "crates/onward-store/src/lib.rs");
    assert_eq!(tidy::check_store_contract(&contract[0]), None);
}

#[test]
fn a_store_that_demands_too_much_is_found() {
    let calls = "    /// A call.\n    fn call(&mut self);\n".repeat(17);
    let text = format!("pub trait Store: Send {{\n{calls}}}\n");
    assert!(tidy::check_store_contract(&made_up("lib.rs", &*text)).is_some());
    let given = text.replacen("fn call(&mut self);", "fn call(&mut self) {}", 1);
    assert_eq!(tidy::check_store_contract(&made_up("lib.rs", given)), None);
}

#[test]
fn doc_comments_name_the_thing() {
    none(files(is_rust).iter().flat_map(tidy::check_doc_comments));
}

#[test]
fn a_doc_comment_that_is_a_riddle_is_found() {
    let text = "//! What is kept.\n\n/// Whoever asks.\n/// What follows is the same sentence.\n///\n/// Whose it is.\nfn a() {}\n";
    let found = tidy::check_doc_comments(&made_up("crates/onward-core/src/a.rs", text));
    assert_eq!(found.iter().map(|breach| breach.line).collect::<Vec<_>>(), [Some(1), Some(6)], "{found:?}");
}
