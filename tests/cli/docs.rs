//! docs/reference has the pages that the binary prints, with every feature. `UPDATE_DOCS=1 cargo test --all-features --test cli
//! docs` writes them.

use std::{env, fs, path::PathBuf};

use promptd_core::{finding, render::ProviderTable};

use super::support::{command, repository, run};

fn check_page(name: &str, table: &str) {
    let printed = run(&repository(), &["docs", name]).out;
    assert!(printed.ends_with(table), "{printed}");
    check(&format!("{name}.md"), &printed);
}

/// That a file of docs/reference is what was printed.
fn check(file: &str, printed: &str) {
    let path = repository().join("docs/reference").join(file);
    if fs::read_to_string(&path).unwrap_or_default() == printed {
        return;
    }
    assert!(env::var_os("UPDATE_DOCS").is_some(), "{} is not current: run with UPDATE_DOCS=1", path.display());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, printed).unwrap();
}

/// A build with fewer features has fewer settings.
#[cfg(all(
    feature = "etcd",
    feature = "inspector",
    feature = "mcp",
    feature = "memory",
    feature = "otlp",
    feature = "record"
))]
mod with_every_feature {
    use promptd::config;

    use super::{SCHEMAS, check, check_page, repository, run};

    #[test]
    fn the_reference_of_settings_is_current() {
        check_page("settings", &config::markdown());
    }

    #[test]
    fn the_schemas_are_current() {
        for name in SCHEMAS {
            check(&format!("schemas/{name}.json"), &run(&repository(), &["schema", name]).out);
        }
    }
}

#[test]
fn the_reference_of_findings_is_current() {
    check_page("findings", &finding::markdown());
}

#[test]
fn the_reference_of_providers_is_current() {
    check_page("providers", &ProviderTable::built_in().markdown());
}

const SCHEMAS: [&str; 5] = ["config", "workspace", "profile", "turn", "skill"];

#[test]
fn an_unknown_schema_lists_the_known_ones() {
    let ran = run(&repository(), &["schema", "workspce"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains(&SCHEMAS.join(", ")) && ran.err.contains("'workspace'"), "{}", ran.err);
}

/// The documents, with the folder that their links are relative to.
fn documents() -> Vec<(PathBuf, String)> {
    let folders = ["", "docs", "docs/reference", "docs/clients"].map(|folder| repository().join(folder));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let markdown = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    markdown.map(|path| (path.parent().unwrap().to_owned(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let mut count = 0;
    for (folder, text) in documents() {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if !link.is_empty() && !link.contains(':') {
                assert!(folder.join(link).exists(), "{link} in {}", folder.display());
                count += 1;
            }
        }
    }
    assert!(count > 30, "{count}");
}

/// Paths in backticks are the repository's, or within `src` of a crate.
#[test]
fn every_source_file_that_the_documents_name_exists() {
    const SOURCES: [&str; 5] = [".rs", ".proto", ".toml", ".py", ".mjs"];
    let crates = ["promptd-core", "promptd-contract", "promptd-source"].map(|name| format!("crates/{name}/src"));
    let roots: Vec<_> = ["", "src", "docs"].into_iter().chain(crates.iter().map(String::as_str)).collect();
    let is_path = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./".contains(&b));
    let mut count = 0;
    for (_, text) in documents() {
        // Between an odd backtick and an even one.
        for word in text.split('`').skip(1).step_by(2).filter(|word| word.contains('/') && is_path(word)) {
            if SOURCES.iter().any(|end| word.ends_with(end)) && !word.starts_with("scripts/") {
                assert!(roots.iter().any(|root| repository().join(root).join(word).exists()), "{word}");
                count += 1;
            }
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn a_reader_that_closes_early_is_not_an_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    for arguments in [
        &["docs", "settings"][..],
        &["schema", "turn"],
        &["profile", "list"],
        &["profile", "show", "kern"],
        &["profile", "docs"],
        &["check", "workspace-example"],
        &["render", "workspace-example"],
        &["render", "workspace-example", "--format", "json"],
    ] {
        let mut command = command(&repository(), arguments);
        let ran = command.stdout(writer.try_clone().unwrap()).stderr(std::process::Stdio::piped()).output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{arguments:?}");
        let output = String::from_utf8(ran.stderr).unwrap();
        assert!(!output.contains("panicked") && !output.contains("Broken pipe"), "{arguments:?}: {output}");
    }
}
