//! Commands and options of parts that a default build lacks.

use super::support::{folder, run};

#[test]
fn what_this_build_lacks_is_named_with_how_to_get_it() {
    let home = folder(&[]);
    let cases: &[(&[&str], &str, &str)] = &[
        (&["memory", "export", "--session", "s"], "promptd memory", "memory"),
        (&["serve", "--memory", "d"], "promptd serve --memory", "memory"),
        (&["publish", "ws", "-m", "why"], "promptd publish", "etcd"),
        (&["diff", "a", "b", "--from", "etcd://h:1/p"], "promptd diff --from", "etcd"),
        (&["help", "mcp"], "promptd mcp", "mcp"),
        (&["man", "rollback"], "promptd rollback", "etcd"),
    ];
    for (arguments, what, feature) in cases {
        let ran = run(home.path(), arguments);
        let message = format!(
            "error: `{what}` is an optional part of promptd, which this build does not have: install a package, which has every \
             part, or build it with `cargo install --path . --locked --features {feature}`\n"
        );
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.starts_with(&message), "{arguments:?}: {}", ran.err);
    }
}
