use super::support::{folder, repository, run};

#[test]
fn profiles_are_listed_and_shown() {
    let listed = run(&repository(), &["profile", "list"]);
    assert!(listed.out.starts_with("five-layer") || listed.out.contains("\nfive-layer"), "{}", listed.out);
    let shown = run(&repository(), &["profile", "show", "five-layer"]);
    assert!(shown.out.contains("name: five-layer"), "{}", shown.out);
    let missing = run(&repository(), &["profile", "show", "five-layers"]);
    assert_eq!(missing.code, 1);
    assert_eq!(missing.err, "error: there is no profile `five-layers`: did you mean `five-layer`?\n");
}

#[test]
fn an_operators_profile_with_a_fault_is_told_with_its_line() {
    let home = folder(&[
        ("config/promptd.yaml", "workspaces: {root: ../ws}\n"),
        ("config/profiles/mine.yaml", "name: mine\nextends: five-layer\nmesages: []\n"),
    ]);
    let ran = run(home.path(), &["profile", "check"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("config/profiles/mine.yaml:3:1") && ran.err.contains("`messages`"), "{}", ran.err);
}
