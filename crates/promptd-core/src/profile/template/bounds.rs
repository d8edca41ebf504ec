//! Bounds on templates, checked before they are compiled.
//!
//! minijinja compiles and drops expressions recursively, and its fuel does not count lists that are joined lazily. So the size
//! of an expression is bounded, which bounds its depth; lists of any length cannot be joined; and nothing can contain itself, since there are
//! no macros, no recursive loops and no `namespace`. What is left, fuel bounds.

use minijinja::{
    machinery::{
        Token,
        ast::{BinOpKind, CallArg, Expr, Stmt},
        parse, tokenize,
    },
    syntax::SyntaxConfig,
    value::ValueKind,
};

use super::TemplateFault;
use crate::profile::{names::Names, types::Type};

/// The most tokens (names, operators, constants) in one `{{ … }}` or `{% … %}`.
pub(super) const MAX_EXPRESSION_TOKENS: usize = 256;
/// The most tokens of a template.
pub(super) const MAX_TEMPLATE_TOKENS: usize = 20_000;
/// The most `elif` of a template.
pub(super) const MAX_ELIFS: usize = 100;
/// The most lists, maps and filters that make lists of lists in a template: values nest no deeper.
pub(super) const MAX_COLLECTIONS: usize = 100;

/// minijinja's filters that give a number or a text, whatever they take.
const SCALAR_FILTERS: [&str; 19] = [
    "abs",
    "capitalize",
    "count",
    "float",
    "format",
    "indent",
    "int",
    "join",
    "length",
    "lower",
    "replace",
    "round",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "upper",
    "urlencode",
];
/// The profiles' own of this kind.
const OWN_SCALAR_FILTERS: [&str; 10] =
    ["attribute", "defuse", "defuse_tags", "epoch_ms", "json", "quoted", "sum_of", "team_size", "xml", "zulu"];
/// minijinja's filters and functions that give lists of lists, or maps.
const NESTING: [&str; 8] = ["batch", "dict", "dictsort", "groupby", "items", "map", "slice", "zip"];

/// Checks the source of a template. What cannot be parsed passes: compiling reports it.
pub(super) fn check(source: &str, syntax: &SyntaxConfig, names: &Names) -> Result<(), TemplateFault> {
    check_tokens(source, syntax)?;
    match parse(source, "", syntax.clone()) {
        Ok(template) => Checker { names, collections: 0 }.statement(&template),
        Err(_) => Ok(()),
    }
}

fn check_tokens(source: &str, syntax: &SyntaxConfig) -> Result<(), TemplateFault> {
    let (mut tokens, mut in_expression, mut elifs) = (0, 0, 0);
    for (token, span) in tokenize(source, false, syntax.clone()).map_while(Result::ok) {
        let fault = |message| Err(TemplateFault { line: u32::from(span.start_line), message });
        tokens += 1;
        in_expression = if matches!(token, Token::VariableStart | Token::BlockStart) { 0 } else { in_expression + 1 };
        elifs += usize::from(matches!(token, Token::Ident("elif")));
        if in_expression > MAX_EXPRESSION_TOKENS {
            return fault(format!(
                "an expression has more than {MAX_EXPRESSION_TOKENS} names, operators and constants"
            ));
        }
        if elifs > MAX_ELIFS {
            return fault(format!("the template has more than {MAX_ELIFS} `elif`"));
        }
        if tokens > MAX_TEMPLATE_TOKENS {
            return fault(format!("the template has more than {MAX_TEMPLATE_TOKENS} names, operators and constants"));
        }
    }
    Ok(())
}

struct Checker<'n> {
    names: &'n Names,
    collections: usize,
}

impl Checker<'_> {
    fn statements(&mut self, statements: &[Stmt<'_>]) -> Result<(), TemplateFault> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Result<(), TemplateFault> {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitExpr(emit) => self.expression(&emit.expr),
            Stmt::EmitRaw(_) => Ok(()),
            Stmt::ForLoop(each) => {
                if each.recursive {
                    let line = u32::from(each.span().start_line);
                    return Err(TemplateFault { line, message: "a loop cannot be `recursive`".to_owned() });
                }
                self.expressions([Some(&each.iter), each.filter_expr.as_ref()].into_iter().flatten())?;
                self.statements(&each.body)?;
                self.statements(&each.else_body)
            }
            Stmt::IfCond(condition) => {
                self.expression(&condition.expr)?;
                self.statements(&condition.true_body)?;
                self.statements(&condition.false_body)
            }
            Stmt::WithBlock(with) => {
                self.expressions(with.assignments.iter().map(|(_, value)| value))?;
                self.statements(&with.body)
            }
            Stmt::Set(set) => self.expression(&set.expr),
            Stmt::SetBlock(set) => {
                self.expressions(&set.filter)?;
                self.statements(&set.body)
            }
            Stmt::AutoEscape(escape) => {
                self.expression(&escape.enabled)?;
                self.statements(&escape.body)
            }
            Stmt::FilterBlock(filter) => {
                self.expression(&filter.filter)?;
                self.statements(&filter.body)
            }
            Stmt::Do(call) => {
                self.expression(&call.call.expr)?;
                self.expressions(call.call.args.iter().map(argument))
            }
        }
    }

    fn expressions<'e, 's: 'e>(
        &mut self,
        expressions: impl IntoIterator<Item = &'e Expr<'s>>,
    ) -> Result<(), TemplateFault> {
        expressions.into_iter().try_for_each(|expression| self.expression(expression))
    }

    fn expression(&mut self, expression: &Expr<'_>) -> Result<(), TemplateFault> {
        self.collections += usize::from(nests(expression));
        let fault = |message| Err(TemplateFault { line: u32::from(expression.span().start_line), message });
        if self.collections > MAX_COLLECTIONS {
            return fault(format!("the template makes more than {MAX_COLLECTIONS} lists and maps"));
        }
        if let Expr::BinOp(sum) = expression
            && matches!(sum.op, BinOpKind::Add)
            && (self.size(&sum.left), self.size(&sum.right)) == (Size::Unknown, Size::Unknown)
        {
            let message =
                "`+` cannot join lists of any length: one side must be a number, a text or a list that is written out";
            return fault(message.to_owned());
        }
        match expression {
            Expr::Var(_) | Expr::Const(_) => Ok(()),
            Expr::Slice(slice) => {
                self.expression(&slice.expr)?;
                self.expressions([&slice.start, &slice.stop, &slice.step].into_iter().flatten())
            }
            Expr::UnaryOp(unary) => self.expression(&unary.expr),
            Expr::BinOp(binary) => self.expressions([&binary.left, &binary.right]),
            Expr::Compare(compare) => {
                self.expression(&compare.expr)?;
                self.expressions(compare.ops.iter().map(|op| &op.expr))
            }
            Expr::IfExpr(choice) => {
                self.expressions([&choice.test_expr, &choice.true_expr])?;
                self.expressions(&choice.false_expr)
            }
            Expr::Filter(filter) => {
                self.expressions(&filter.expr)?;
                self.expressions(filter.args.iter().map(argument))
            }
            Expr::Test(test) => {
                self.expression(&test.expr)?;
                self.expressions(test.args.iter().map(argument))
            }
            Expr::GetAttr(field) => self.expression(&field.expr),
            Expr::GetItem(item) => self.expressions([&item.expr, &item.subscript_expr]),
            Expr::Call(call) => {
                self.expression(&call.expr)?;
                self.expressions(call.args.iter().map(argument))
            }
            Expr::List(list) => self.expressions(&list.items),
            Expr::Tuple(tuple) => self.expressions(&tuple.items),
            Expr::Map(map) => self.expressions(map.keys.iter().chain(&map.values)),
        }
    }

    fn size(&self, expression: &Expr<'_>) -> Size {
        let all_scalar = |sizes: [Size; 2]| if sizes == [Size::Scalar; 2] { Size::Scalar } else { Size::Unknown };
        match expression {
            Expr::Const(constant) if matches!(constant.value.kind(), ValueKind::Seq | ValueKind::Iterable) => {
                Size::Written
            }
            Expr::List(_) | Expr::Tuple(_) => Size::Written,
            Expr::Const(_) | Expr::UnaryOp(_) | Expr::Compare(_) | Expr::Test(_) | Expr::Map(_) => Size::Scalar,
            Expr::BinOp(binary) => {
                let sides = [self.size(&binary.left), self.size(&binary.right)];
                match binary.op {
                    // What is added to a number or a text must be one too.
                    BinOpKind::Add if sides.contains(&Size::Scalar) => Size::Scalar,
                    BinOpKind::Add if sides == [Size::Written; 2] => Size::Written,
                    BinOpKind::Add => Size::Unknown,
                    BinOpKind::Mul | BinOpKind::ScAnd | BinOpKind::ScOr => all_scalar(sides),
                    _ => Size::Scalar,
                }
            }
            Expr::IfExpr(choice) => {
                let otherwise = choice.false_expr.as_ref().map_or(Size::Scalar, |expr| self.size(expr));
                self.size(&choice.true_expr).max(otherwise)
            }
            Expr::Filter(filter)
                if SCALAR_FILTERS.contains(&filter.name) || OWN_SCALAR_FILTERS.contains(&filter.name) =>
            {
                Size::Scalar
            }
            Expr::Var(_) | Expr::GetAttr(_) => match path(expression).map(|path| self.names.resolve(&path)) {
                Some(Ok(Type::Text | Type::Choice(_) | Type::Bool | Type::Int(_) | Type::Number(_) | Type::Time)) => {
                    Size::Scalar
                }
                _ => Size::Unknown,
            },
            Expr::Filter(_) | Expr::Slice(_) | Expr::GetItem(_) | Expr::Call(_) => Size::Unknown,
        }
    }
}

/// What is certain of a value's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    /// Not a list.
    Scalar,
    /// A list as long as it is written.
    Written,
    /// Perhaps a list, of any length.
    Unknown,
}

fn argument<'e, 's>(argument: &'e CallArg<'s>) -> &'e Expr<'s> {
    match argument {
        CallArg::Pos(expr) | CallArg::Kwarg(_, expr) | CallArg::PosSplat(expr) | CallArg::KwargSplat(expr) => expr,
    }
}

fn nests(expression: &Expr<'_>) -> bool {
    match expression {
        Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => true,
        Expr::Filter(filter) => NESTING.contains(&filter.name),
        Expr::Call(call) => matches!(&call.expr, Expr::Var(name) if NESTING.contains(&name.id)),
        _ => false,
    }
}

/// The dotted path that an expression is, if it is one.
fn path(expression: &Expr<'_>) -> Option<String> {
    match expression {
        Expr::Var(name) => Some(name.id.to_owned()),
        Expr::GetAttr(field) => Some(format!("{}.{}", path(&field.expr)?, field.name)),
        _ => None,
    }
}
