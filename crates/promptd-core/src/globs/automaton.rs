//! All globs of a list as one automaton, run bit by bit.
//!
//! Its states are numbered, and a set of states is a row of bits. State `n` is reached from `n - 1` by a character of
//! its class, from itself by any character where the glob has a `*`, and by a free step where alternatives begin and end. So a
//! character of a name costs a shift, an AND and an OR of the whole set: time is the name's length times the list's,
//! divided by 64, whatever the globs are. A backtracking matcher is exponential here, and a lazily built DFA (globset, regex)
//! takes seconds where its states do not fit its cache.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// Whether upper and lower case differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// They do, as in workspace ids.
    Exact,
    /// They do not, in any script, as in skill names.
    Ignored,
}

/// ASCII characters have their classes in a table.
const ASCII: usize = 128;
const WORD: usize = u64::BITS as usize;

/// Matches whole names.
#[derive(Debug, Clone, Default)]
pub(super) struct Automaton {
    start: Vec<u64>,
    /// The states that any character leads back to.
    loops: Vec<u64>,
    accepting: Vec<u64>,
    /// Of each ASCII character, the states that it leads to.
    ascii: Vec<u64>,
    /// Of other characters, the ranges that lead to a state.
    ranges: Vec<(ClassUnicodeRange, usize)>,
    /// Free steps, all of them forward, in order of where they begin.
    free: Vec<(usize, usize)>,
}

impl Automaton {
    /// Compiles globs that are well formed.
    pub(super) fn compile<'g>(globs: impl IntoIterator<Item = &'g str>, case: Case) -> Self {
        let mut builder = Builder {
            case,
            states: 0,
            start: Vec::new(),
            loops: Vec::new(),
            accepting: Vec::new(),
            classes: Vec::new(),
            free: Vec::new(),
        };
        for glob in globs {
            builder.glob(glob);
        }
        builder.build()
    }

    /// How many alternatives the globs have: each begins and ends with a free step.
    pub(super) fn alternatives(&self) -> usize {
        self.free.len() / 2
    }

    /// Whether any glob matches all of `name`.
    pub(super) fn matches(&self, name: &str) -> bool {
        let words = self.start.len();
        let mut states = self.start.clone();
        self.take_free_steps(&mut states);
        let mut other = vec![0; words];
        for c in name.chars() {
            let class = match self.ascii.get(c as usize * words..(c as usize + 1) * words) {
                Some(class) if c.is_ascii() => class,
                _ => {
                    self.class_of(c, &mut other);
                    &other
                }
            };
            let mut carry = 0;
            let mut any = 0;
            for ((states, class), loops) in states.iter_mut().zip(class).zip(&self.loops) {
                let shifted = *states << 1 | carry;
                carry = *states >> (WORD - 1);
                *states = shifted & class | *states & loops;
                any |= *states;
            }
            if any == 0 {
                return false;
            }
            self.take_free_steps(&mut states);
        }
        states.iter().zip(&self.accepting).any(|(states, accepting)| states & accepting != 0)
    }

    fn take_free_steps(&self, states: &mut [u64]) {
        for &(from, to) in &self.free {
            if states[from / WORD] >> (from % WORD) & 1 == 1 {
                set(states, to);
            }
        }
    }

    fn class_of(&self, c: char, class: &mut [u64]) {
        class.fill(0);
        for (range, state) in &self.ranges {
            if (range.start()..=range.end()).contains(&c) {
                set(class, *state);
            }
        }
    }
}

fn set(bits: &mut [u64], index: usize) {
    bits[index / WORD] |= 1 << (index % WORD);
}

struct Builder {
    case: Case,
    states: usize,
    start: Vec<usize>,
    loops: Vec<usize>,
    accepting: Vec<usize>,
    classes: Vec<(ClassUnicode, usize)>,
    free: Vec<(usize, usize)>,
}

/// Alternatives that are being read: the state before them, and the last state of each.
struct Alternatives {
    before: usize,
    ends: Vec<usize>,
}

impl Builder {
    fn glob(&mut self, glob: &str) {
        let start = self.state();
        self.start.push(start);
        let mut open: Vec<Alternatives> = Vec::new();
        let mut rest = if glob.replace("**/", "").is_empty() { "*" } else { glob };
        let mut before = '/';
        while let Some(c) = rest.chars().next() {
            // `**/` where a path begins also matches no folder at all.
            if let (Some(after), '/') = (rest.strip_prefix("**/"), before) {
                self.folders();
                rest = after;
                continue;
            }
            rest = &rest[c.len_utf8()..];
            match (c, open.last_mut()) {
                ('*', _) => self.loops.push(self.last()),
                ('?', _) => self.class(ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)])),
                ('[', _) => rest = self.bracket(rest),
                ('{', _) => {
                    open.push(Alternatives { before: self.last(), ends: Vec::new() });
                    self.alternative(self.last());
                }
                (',', Some(alternatives)) => {
                    alternatives.ends.push(self.last());
                    let before = alternatives.before;
                    self.alternative(before);
                }
                ('}', Some(_)) => self.close(open.pop()),
                ('\\', _) => {
                    let escaped = rest.chars().next().unwrap_or(c);
                    rest = rest.strip_prefix(escaped).unwrap_or_default();
                    self.literal(escaped);
                }
                _ => self.literal(c),
            }
            before = if matches!(c, '{' | ',') && !open.is_empty() { '/' } else { c };
        }
        self.accepting.push(self.last());
    }

    fn state(&mut self) -> usize {
        self.states += 1;
        self.last()
    }

    fn last(&self) -> usize {
        self.states.saturating_sub(1)
    }

    fn class(&mut self, class: ClassUnicode) {
        let state = self.state();
        self.classes.push((class, state));
    }

    fn literal(&mut self, c: char) {
        let class = self.folded([ClassUnicodeRange::new(c, c)]);
        self.class(class);
    }

    fn folded(&self, ranges: impl IntoIterator<Item = ClassUnicodeRange>) -> ClassUnicode {
        let mut class = ClassUnicode::new(ranges);
        if self.case == Case::Ignored {
            class.case_fold_simple();
        }
        class
    }

    /// Any number of folders, each with its `/`.
    fn folders(&mut self) {
        let before = self.last();
        self.alternative(before);
        self.loops.push(self.last());
        self.literal('/');
        self.close(Some(Alternatives { before, ends: vec![before] }));
    }

    fn alternative(&mut self, before: usize) {
        let first = self.state();
        self.free.push((before, first));
    }

    fn close(&mut self, alternatives: Option<Alternatives>) {
        let last = self.last();
        let after = self.state();
        let ends = alternatives.into_iter().flat_map(|alternatives| alternatives.ends).chain([last]);
        self.free.extend(ends.map(|end| (end, after)));
    }

    /// A class, whose `[` is read already; returns the rest of the glob. A `]` that comes first is itself, and a
    /// `-` after a range extends it, as in globset.
    fn bracket<'g>(&mut self, glob: &'g str) -> &'g str {
        let inner = glob.strip_prefix(['!', '^']);
        let negated = inner.is_some();
        let inner = inner.unwrap_or(glob);
        let end = inner.char_indices().skip(1).find(|(_, c)| *c == ']').map_or(inner.len(), |(at, _)| at);
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut in_range = false;
        for c in inner[..end].chars() {
            match (c, ranges.last_mut()) {
                (_, Some(range)) if in_range => {
                    range.1 = c;
                    in_range = false;
                }
                ('-', Some(_)) => in_range = true,
                _ => ranges.push((c, c)),
            }
        }
        if in_range {
            ranges.push(('-', '-'));
        }
        let mut class = self.folded(ranges.into_iter().map(|(first, last)| ClassUnicodeRange::new(first, last)));
        if negated {
            class.negate();
        }
        self.class(class);
        inner.get(end + 1..).unwrap_or_default()
    }

    fn build(mut self) -> Automaton {
        let words = self.states.div_ceil(WORD);
        let bits = |states: &[usize]| {
            let mut bits = vec![0; words];
            for state in states {
                set(&mut bits, *state);
            }
            bits
        };
        let (start, loops, accepting) = (bits(&self.start), bits(&self.loops), bits(&self.accepting));
        let mut ascii = vec![0; ASCII * words];
        let mut ranges = Vec::new();
        for (class, state) in &self.classes {
            for range in class.ranges() {
                for c in (range.start()..=range.end()).take_while(char::is_ascii) {
                    set(&mut ascii[c as usize * words..], *state);
                }
                if !range.end().is_ascii() {
                    ranges.push((*range, *state));
                }
            }
        }
        self.free.sort_unstable();
        Automaton { start, loops, accepting, ascii, ranges, free: self.free }
    }
}
