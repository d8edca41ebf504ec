//! The `{{ … }}` of a template: which values each may write.

use std::collections::BTreeMap;

use minijinja::{
    Value,
    machinery::ast::{BinOpKind, CallArg, Expr, Stmt},
};

/// Of one template.
#[derive(Debug, Default)]
pub(super) struct Expressions {
    /// In the order of the source.
    pub list: Vec<Expression>,
    /// The names that the template itself binds.
    pub bindings: BTreeMap<String, Binding>,
}

/// One `{{ … }}`.
#[derive(Debug)]
pub(super) struct Expression {
    /// What it may write, or make what it writes from.
    pub candidates: Vec<Candidate>,
    /// Whether what it writes is not the template's text yet: it is set as a value, or goes through a filter.
    pub captured: bool,
}

/// What an expression may write.
#[derive(Debug, Clone)]
pub(super) enum Candidate {
    /// A text of the template.
    Constant(String),
    /// A value, and the name of the attribute that it is written as.
    Value(Path, Option<String>),
}

/// A name with fields and items below it.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub name: String,
    /// The keys, in order.
    pub steps: Vec<Value>,
}

/// A name that a template binds.
#[derive(Debug, Default)]
pub(super) struct Binding {
    /// What its values are, or are made from.
    pub of: Vec<Path>,
    /// Whether it goes through their items.
    pub is_loop: bool,
}

impl Expressions {
    /// Those of a parsed template.
    pub(super) fn of(template: &Stmt<'_>) -> Self {
        let mut all = Self::default();
        all.statement(template, false);
        all
    }

    fn statements(&mut self, statements: &[Stmt<'_>], captured: bool) {
        for statement in statements {
            self.statement(statement, captured);
        }
    }

    fn statement(&mut self, statement: &Stmt<'_>, captured: bool) {
        match statement {
            Stmt::Template(template) => self.statements(&template.children, captured),
            Stmt::EmitExpr(emit) => {
                self.list.push(Expression { candidates: candidates(&emit.expr), captured });
            }
            Stmt::ForLoop(each) => {
                self.bind(&each.target, &each.iter, true);
                self.statements(&each.body, captured);
                self.statements(&each.else_body, captured);
            }
            Stmt::IfCond(condition) => {
                self.statements(&condition.true_body, captured);
                self.statements(&condition.false_body, captured);
            }
            Stmt::WithBlock(with) => {
                for (target, value) in &with.assignments {
                    self.bind(target, value, false);
                }
                self.statements(&with.body, captured);
            }
            Stmt::Set(set) => self.bind(&set.target, &set.expr, false),
            Stmt::SetBlock(set) => {
                if let Expr::Var(target) = &set.target {
                    self.bindings.entry(target.id.to_owned()).or_default();
                }
                self.statements(&set.body, true);
            }
            Stmt::AutoEscape(escape) => self.statements(&escape.body, captured),
            Stmt::FilterBlock(filter) => self.statements(&filter.body, true),
            Stmt::EmitRaw(_) | Stmt::Do(_) => {}
        }
    }

    /// Notes what a name is bound to. One that is bound at several places may be any of them.
    fn bind(&mut self, target: &Expr<'_>, value: &Expr<'_>, is_loop: bool) {
        let (targets, is_item) = match target {
            Expr::List(list) => (list.items.iter().collect(), false),
            Expr::Tuple(tuple) => (tuple.items.iter().collect(), false),
            other => (vec![other], is_loop),
        };
        let of = candidates(value).into_iter().filter_map(|candidate| match candidate {
            Candidate::Value(path, _) => Some(path),
            Candidate::Constant(_) => None,
        });
        let of: Vec<Path> = of.collect();
        for target in targets {
            if let Expr::Var(target) = target {
                let binding = self.bindings.entry(target.id.to_owned()).or_default();
                binding.of.extend(of.iter().filter(|path| path.name != target.id).cloned());
                binding.is_loop |= is_item;
            }
        }
    }
}

/// What an expression may write, the likeliest first.
fn candidates(expression: &Expr<'_>) -> Vec<Candidate> {
    let all = |expressions: &[&Expr<'_>]| expressions.iter().flat_map(|e| candidates(e)).collect();
    if let Some(path) = path(expression) {
        return vec![Candidate::Value(path, None)];
    }
    match expression {
        Expr::Const(constant) => {
            constant.value.as_str().map(|text| Candidate::Constant(text.to_owned())).into_iter().collect()
        }
        Expr::Slice(slice) => candidates(&slice.expr),
        Expr::UnaryOp(unary) => candidates(&unary.expr),
        Expr::BinOp(binary) if matches!(binary.op, BinOpKind::ScAnd) => all(&[&binary.right, &binary.left]),
        Expr::BinOp(binary) => all(&[&binary.left, &binary.right]),
        Expr::Compare(compare) => candidates(&compare.expr),
        Expr::IfExpr(choice) => {
            let mut both = candidates(&choice.true_expr);
            both.extend(choice.false_expr.iter().flat_map(candidates));
            both
        }
        Expr::Filter(filter) => {
            let mut found = filter.expr.as_ref().map(candidates).unwrap_or_default();
            let argument = filter.args.first().and_then(|argument| match argument {
                CallArg::Pos(Expr::Const(constant)) => constant.value.as_str().map(ToOwned::to_owned),
                _ => None,
            });
            match (filter.name, argument) {
                ("attribute", Some(name)) => {
                    for candidate in &mut found {
                        if let Candidate::Value(_, attribute) = candidate {
                            *attribute = Some(name.clone());
                        }
                    }
                }
                ("default" | "d", Some(text)) => found.push(Candidate::Constant(text)),
                _ => {}
            }
            found
        }
        Expr::Test(test) => candidates(&test.expr),
        Expr::GetAttr(field) => candidates(&field.expr),
        Expr::GetItem(item) => candidates(&item.expr),
        Expr::List(list) => list.items.iter().flat_map(candidates).collect(),
        Expr::Tuple(tuple) => tuple.items.iter().flat_map(candidates).collect(),
        Expr::Map(map) => map.values.iter().flat_map(candidates).collect(),
        Expr::Var(_) | Expr::Call(_) => Vec::new(),
    }
}

/// The path that an expression is, if it is one.
fn path(expression: &Expr<'_>) -> Option<Path> {
    let (outer, step) = match expression {
        Expr::Var(name) => return Some(Path { name: name.id.to_owned(), steps: Vec::new() }),
        Expr::GetAttr(field) => (&field.expr, Value::from(field.name)),
        Expr::GetItem(item) => {
            let Expr::Const(key) = &item.subscript_expr else { return None };
            (&item.expr, key.value.clone())
        }
        _ => return None,
    };
    let mut path = path(outer)?;
    path.steps.push(step);
    Some(path)
}
