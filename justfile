# The commands of the project: `just` lists them, `.ci/run` runs every check. `pip install rust-just` or
# `cargo install just` brings just.

target := env("CARGO_TARGET_DIR", justfile_directory() / "target")
tools := justfile_directory() / "target/ci/venv/bin"
# Built once, by `release`; the benches share it.
promptd := target / "release/promptd"
# What is shipped, with every feature, by `dist`.
shipped := target / "x86_64-unknown-linux-gnu/dist/promptd"

# Lists the recipes.
[private]
default:
    @just --justfile {{justfile()}} --list --unsorted

# Every check, as CI runs them.
ci:
    .ci/run

# Whether the code is formatted.
fmt:
    cargo fmt --check
    cargo fmt --check --manifest-path fuzz/Cargo.toml

# The rules of the contract's files.
proto: tools
    {{tools}}/buf lint

# Licences, sources and banned crates among the dependencies.
dependencies: tools
    {{tools}}/cargo-deny check bans licenses sources

# The example's skills against the Agent Skills specification.
skills: tools
    for skill in workspace-example/skills/*/; do {{tools}}/agentskills validate "$skill" || exit 1; done

# The shell scripts.
scripts: tools
    {{tools}}/shellcheck --severity=warning .ci/run .ci/tools .ci/walls .ci/bench .ci/debian .ci/deploy .ci/dist .ci/dist-try .ci/fuzz .ci/mutants tests/polyglot/run tests/mcp/run tests/clients/python/run tests/clients/node/run tests/clients/node/certificates tests/clients/rust/run tests/documents/run tests/monitoring/run tests/etcd/run tests/browser/run tests/browser/chromium

# The lints, all of them as errors.
clippy:
    cargo clippy --workspace --all-targets --all-features --locked -- -D warnings

# What a crate may not depend on or call.
walls:
    .ci/walls

# The tests: `just test --test cases` for some of them.
test *arguments:
    cargo test --workspace --all-features {{arguments}}

# The documentation of the code, broken links as errors.
doc:
    RUSTDOCFLAGS='-D warnings' cargo doc --workspace --all-features --no-deps --locked --document-private-items

# Builds what `bench`, `polyglot` and `example` run.
release:
    cargo bench --locked --no-run --bench load --bench scale --bench instructions

# What is shipped: a static binary with every feature, completions, manual pages, licence, as an archive with a checksum, in
# target/packages. For another target, after `rustup target add TARGET` and with a linker for it: `just dist
# x86_64-unknown-linux-musl`, `just dist aarch64-unknown-linux-gnu` (these two are not tested).
dist target="x86_64-unknown-linux-gnu":
    .ci/dist {{target}}

# Builds without the features that are optional: with none, and with the default ones, whose lints are part of `walls`; and what such a
# build says of the parts that it lacks.
features:
    cargo clippy --locked --no-default-features -- -D warnings
    cargo check --locked --all-targets
    cargo test --locked --test cli unbuilt >target/unbuilt.log; cat target/unbuilt.log; grep -q '1 passed' target/unbuilt.log

# The store of conversations under faults: its server is killed so many times.
memory kills="200":
    PROMPTD_KILLS={{kills}} cargo test --locked --all-features --test memory -- --nocapture

# Spans in a collector, alerts and the dashboard, by the binary that is shipped.
monitoring: dist
    PROMPTD_BIN={{shipped}} tests/monitoring/run

# Workspaces in etcd, by the binary that is shipped: nodes that are killed, paused, full; publishing. `PROMPTD_ETCD=long just etcd`
# for the long form.
etcd *arguments: dist
    PROMPTD_BIN={{shipped}} tests/etcd/run {{arguments}}

# The example workspace has no errors.
example: release
    {{promptd}} check workspace-example

# The files of deploy/, with the binary that is shipped: one of them needs a feature that is off by default.
deploy: tools dist
    .ci/deploy {{tools}} {{shipped}}

# Real clients: Python, Node, and gRPC-Web in a browser; the schemas in other programs.
polyglot: release
    PROMPTD_BIN={{promptd}} tests/polyglot/run

# The MCP server of the binary that is shipped: the conformance suite, the official clients, what is hidden, bounds.
mcp *arguments: dist
    PROMPTD_BIN={{shipped}} tests/mcp/run {{arguments}}

# The Python client: built, installed into an empty environment, tested there.
client-python: dist
    PROMPTD_BIN={{shipped}} tests/clients/python/run

# The client for Node and browsers: built as a file, installed into an empty folder, and tested there.
client-node: dist
    PROMPTD_BIN={{shipped}} tests/clients/node/run

# The Rust client: packed as a crate's file, built in an empty project, tested against the real server.
client-rust: dist
    PROMPTD_BIN={{shipped}} tests/clients/rust/run

# Every command that the documents print, by the binary that is shipped: some need a feature that is off by default; and the time to
# a first answer from an empty folder.
documents: tools dist
    PROMPTD_BIN={{shipped}} tests/documents/run

# The inspector in a real browser: `just browser live` for one file of tests.
browser *file: dist
    PROMPTD_BIN={{shipped}} tests/browser/run {{file}}

# Writes the pictures of docs/inspector.md.
screenshots: dist
    npm ci --silent --no-audit --no-fund --prefix tests/browser
    PROMPTD_BIN={{shipped}} PROMPTD_BROWSER="$(tests/browser/chromium)" node tests/browser/screenshots.mjs

# The fuzz targets, each for so many seconds: `just fuzz 3600 reply`.
fuzz seconds="5" *names:
    .ci/fuzz {{seconds}} {{names}}

# Runs one input of a fuzz target again, such as a crash.
fuzz-input name input: tools
    RUSTC_BOOTSTRAP=1 {{tools}}/cargo-fuzz run --release --sanitizer none {{name}} {{input}}

# Writes the smallest input that still crashes.
fuzz-shrink name input: tools
    RUSTC_BOOTSTRAP=1 {{tools}}/cargo-fuzz tmin --release --sanitizer none {{name}} {{input}}

# The benches in their short forms.
bench: release
    .ci/bench

# Random saves of every kind, each checked: how many, and the seed that decides which. First with calls of the file system
# that fail, one in so many; then without, where the time that a save takes is checked too.
soak saves="20000" seed="1" fail_one_in="300":
    cargo run --release --example soak -- --saves {{saves}} --seed {{seed}} --fail-one-in {{fail_one_in}}
    cargo run --release --example soak -- --saves {{saves}} --seed {{seed}}

# Calls that have nothing in common, after which memory must be what it was.
endure calls="1000000":
    cargo run --release --example endure -- --calls {{calls}}

# The worst that callers can send: memory against the formula of docs/operating.md, and how long others wait.
pressure *names:
    PROMPTD_PRESSURE=long cargo test --release --locked --test pressure -- --nocapture {{names}}

# Bugs put into promptd-`core` or promptd-`source`, which tests must catch: one shard of many.
mutants crate="core" shard="0/100":
    .ci/mutants {{crate}} {{shard}}

# Writes the parts of the documents that the code prints.
docs:
    UPDATE_DOCS=1 cargo test --all-features --test cli docs
    UPDATE_DOCS=1 cargo test --all-features --test cli manual

# Writes the expected prompts of tests/cases; read the difference before you commit it.
snapshots:
    INSTA_UPDATE=always cargo test --test cases

[private]
tools:
    .ci/tools
