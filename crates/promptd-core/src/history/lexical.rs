//! Topics by words alone, for callers without embeddings.
//!
//! A message becomes a vector of [`DIMENSIONS`] numbers, the same on every machine and in every version of this format:
//!
//! 1. Its text is lower-cased and divided into units: words, which are runs of letters and digits; and, in scripts without
//!    spaces between words (Chinese, Japanese, Thai and others) and in Korean, single characters.
//! 2. A word is a term, and so are two units that follow each other; a single character says too little.
//! 3. A term that occurs n times counts √n · log₂(1 + N / d): N messages are compared, d of them have it. The logarithm is
//!    linear between powers of two, so that it is the same on every machine.
//! 4. The FNV-1a hash of the term is where it counts, and by its highest bit whether it is added or subtracted, so that
//!    collisions do not make texts alike.
//!
//! What is compared at a place is the sum of the messages before it and the sum of those from it on, a window each. They are
//! 1 less the root of the cosine apart, since texts of one topic share few of their terms. How alike messages of one topic
//! are differs between conversations, so half of what a place is farther than the mean of all places is added. The
//! thresholds that are right for embeddings are then right for words.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::vectors::{Vectors, add, cosine};

/// How long the vectors are.
const DIMENSIONS: usize = 1_024;
/// The most terms of one message: those after them do not count.
const MAX_TERMS: usize = 4_096;

/// How long the vector of a text by itself is.
const TEXT_DIMENSIONS: usize = 384;
/// At how many places a term counts there: two texts that share no term are then hardly ever alike, however short they are.
const PLACES: u32 = 8;
/// A word of so many characters, or more, says the most.
const TELLING_CHARS: u8 = 6;

/// How much it counts that a place is farther than the others.
const CONTRAST: f32 = 0.5;

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// The vectors of texts that are compared with each other.
pub(super) fn vectors(texts: &[impl AsRef<str>]) -> Vectors {
    let texts: Vec<BTreeMap<u64, f32>> = texts.iter().map(|text| terms(text.as_ref())).collect();
    let mut found_in: FxHashMap<u64, f32> = FxHashMap::default();
    for term in texts.iter().flat_map(BTreeMap::keys) {
        *found_in.entry(*term).or_default() += 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a chunk has few messages")]
    let count = texts.len() as f32;
    let mut vectors = Vectors::zero(texts.len(), DIMENSIONS);
    for (index, terms) in texts.iter().enumerate() {
        let vector = vectors.of_message_mut(index);
        for (&term, times) in terms {
            let rarity = log2(1.0 + count / found_in.get(&term).copied().unwrap_or(1.0));
            count_term(vector, term, times.sqrt() * rarity);
        }
    }
    vectors
}

/// The vector of a text that is stored and compared with others later; zero for one without words.
///
/// How rare its terms are nobody knows yet. What is said often is short in every language that writes words, so a word counts by the
/// square of its length, up to six letters; two units that follow each other count by both.
#[must_use]
pub fn text_vector(text: &str) -> Vec<f32> {
    let mut terms: BTreeMap<u64, (f32, f32)> = BTreeMap::new();
    each_term(text, |units| {
        let term = terms.entry(hash(units)).or_default();
        *term = (term.0 + 1.0, units.iter().map(|unit| telling(unit)).product());
    });
    let mut vector = vec![0.0; TEXT_DIMENSIONS];
    for (term, (times, telling)) in terms {
        for place in 0..PLACES {
            count_term(&mut vector, term.rotate_left(u64::BITS / PLACES * place), times.sqrt() * telling);
        }
    }
    vector
}

/// How much a unit says, as far as its length shows.
fn telling(unit: &str) -> f32 {
    if unit.starts_with(is_undivided) {
        return 1.0;
    }
    let chars = unit.chars().take(TELLING_CHARS.into()).fold(0_u8, |count, _| count + 1);
    (f32::from(chars) / f32::from(TELLING_CHARS)).powi(2)
}

/// Adds to a vector what a term counts, at its place.
fn count_term(vector: &mut [f32], term: u64, amount: f32) {
    let sign = if term >> 63 == 0 { 1.0 } else { -1.0 };
    #[expect(clippy::cast_possible_truncation, reason = "less than the dimensions")]
    let place = (term % vector.len() as u64) as usize;
    vector[place] += sign * amount;
}

/// How far the messages before each place are from those that follow, from 0 to 1; 0 at the first.
pub(super) fn distances(vectors: &Vectors, count: usize, window: usize) -> Vec<f32> {
    let side = |messages: std::ops::Range<usize>| {
        let mut sum = vec![0.0; DIMENSIONS];
        messages.for_each(|message| add(&mut sum, vectors.of_message(message), 1.0));
        sum
    };
    let at = |place: usize| {
        let (before, after) = (place.saturating_sub(window)..place, place..(place + window).min(count));
        cosine(&side(before), &side(after)).map_or(0.0, |alike| 1.0 - alike.max(0.0).sqrt())
    };
    let apart: Vec<f32> = (0..count).map(|place| if place == 0 { 0.0 } else { at(place) }).collect();
    #[expect(clippy::cast_precision_loss, reason = "a chunk has few messages")]
    let mean = apart.iter().sum::<f32>() / count.max(1) as f32;
    apart.iter().map(|apart| (apart + CONTRAST * (apart - mean)).clamp(0.0, 1.0)).collect()
}

/// The logarithm, linear between powers of two. That of the standard library can differ between machines.
fn log2(number: f32) -> f32 {
    /// 2^23: how many values the mantissa has.
    const MANTISSAS: f32 = 8_388_608.0;
    // Exponent and mantissa, read as one number, are that.
    #[expect(clippy::cast_precision_loss, reason = "rounded alike everywhere")]
    let bits = number.to_bits() as f32;
    bits / MANTISSAS - 127.0
}

/// How often each term occurs in a text.
fn terms(text: &str) -> BTreeMap<u64, f32> {
    let mut terms = BTreeMap::new();
    each_term(text, |units| *terms.entry(hash(units)).or_default() += 1.0);
    terms
}

/// Each term of a text, as its units.
fn each_term(text: &str, mut each: impl FnMut(&[&str])) {
    let mut before: Option<&str> = None;
    let lower = text.to_lowercase();
    for unit in units(&lower).take(MAX_TERMS / 2) {
        if !unit.starts_with(is_undivided) {
            each(&[unit]);
        }
        if let Some(before) = before {
            each(&[before, unit]);
        }
        before = Some(unit);
    }
}

/// Words, and single characters of scripts that do not divide them.
fn units(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let first = rest.chars().next()?;
        let end = if is_undivided(first) {
            first.len_utf8()
        } else {
            rest.find(|c: char| !c.is_alphanumeric() || is_undivided(c)).unwrap_or(rest.len())
        };
        let (unit, after) = rest.split_at(end);
        rest = after;
        Some(unit)
    })
}

/// Whether a character is of a script that writes words without spaces, or of Korean, which writes endings to them.
fn is_undivided(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0EFF}' // Thai, Lao
        | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' // Burmese, Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' // Japanese
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' // Chinese
        | '\u{1100}'..='\u{11FF}' | '\u{AC00}'..='\u{D7AF}' // Korean
        | '\u{FF66}'..='\u{FF9D}')
}

/// FNV-1a over the units, each followed by a space.
fn hash(units: &[&str]) -> u64 {
    let bytes = units.iter().flat_map(|unit| unit.bytes().chain([b' ']));
    bytes.fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_words_or_characters() {
        for (text, divided) in [
            ("The pump, P-101!", vec!["The", "pump", "P", "101"]),
            ("船は3時 OK", vec!["船", "は", "3", "時", "OK"]),
            ("déjà\u{a0}vu", vec!["déjà", "vu"]),
            ("  …  ", vec![]),
        ] {
            assert_eq!(units(text).collect::<Vec<_>>(), divided, "{text}");
        }
    }

    #[test]
    fn the_hash_is_that_of_fnv_1a() {
        // "a " and "foobar" with its space, by the reference implementation.
        let reference =
            |bytes: &[u8]| bytes.iter().fold(FNV_OFFSET, |h, b| (h ^ u64::from(*b)).wrapping_mul(FNV_PRIME));
        assert_eq!(reference(b"foobar"), 0x8594_4171_f739_67e8, "the published value");
        assert_eq!(hash(&["tide", "table"]), reference(b"tide table "));
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }

    #[test]
    fn texts_of_the_same_words_are_near_and_others_are_far() {
        let apart = |texts: &[&str]| distances(&vectors(texts), texts.len(), 1);
        let near = apart(&["the pump leaks", "the pump leaks again", "the tide turns", ""]);
        assert!(near[0] == 0.0 && near[1] < 0.4 && near[2] > 0.6, "{near:?}");
        assert!(near[3] < 0.1, "a side that says nothing is not a shift: {near:?}");
        assert_eq!(apart(&["same", "same", "same"]), [0.0; 3]);
    }

    #[test]
    fn stored_vectors_of_texts_that_share_telling_words_are_near() {
        let near = |one, other| cosine(&text_vector(one), &text_vector(other)).unwrap_or_default();
        let asked = "when does the harbour open";
        let alike = near(asked, "The harbour opens at six, the café at seven");
        assert!(alike > 0.3, "{alike}");
        assert!(near(asked, "how is the dog of the aunt") < alike / 2.0, "short words say little");
        assert!(near("我明天去北京开会", "北京开会的时间") > 0.3);
        assert_eq!(text_vector(" …"), [0.0; TEXT_DIMENSIONS]);
        assert!((near(asked, asked) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn logarithms_are_linear_between_powers_of_two() {
        for (number, log) in [(1.0, 0.0), (1.5, 0.5), (2.0, 1.0), (3.0, 1.5), (500.0, 8.953_125)] {
            assert!((log2(number) - log).abs() < f32::EPSILON, "{number}");
        }
    }
}
