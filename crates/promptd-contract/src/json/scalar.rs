//! Numbers, texts, bytes and enums, as ProtoJSON has them.

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use prost_reflect::Kind;

use super::{tree::Json, wire::Wire};

/// Either alphabet, with padding or without: ProtoJSON takes all four.
const BASE64: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

/// Writes a value; false where this kind does not take it.
pub(super) fn write(wire: &mut Wire, tag: u32, kind: &Kind, json: &Json<'_>) -> bool {
    try_write(wire, tag, kind, json).is_some()
}

fn try_write(wire: &mut Wire, tag: u32, kind: &Kind, json: &Json<'_>) -> Option<()> {
    match kind {
        Kind::Bool => match json {
            Json::Bool(bool) => wire.varint(tag, (*bool).into()),
            _ => return None,
        },
        Kind::String => match json {
            Json::Text(text) => wire.bytes(tag, text.as_bytes()),
            _ => return None,
        },
        Kind::Bytes => wire.bytes(tag, &bytes(json)?),
        Kind::Int32 => wire.varint(tag, i64::from(whole::<i32>(json)?).cast_unsigned()),
        Kind::Int64 => wire.varint(tag, whole::<i64>(json)?.cast_unsigned()),
        Kind::Uint32 => wire.varint(tag, whole::<u32>(json)?.into()),
        Kind::Uint64 => wire.varint(tag, whole::<u64>(json)?),
        Kind::Sint32 => wire.varint(tag, zigzag(whole::<i32>(json)?.into())),
        Kind::Sint64 => wire.varint(tag, zigzag(whole::<i64>(json)?)),
        Kind::Fixed32 => wire.fixed32(tag, whole::<u32>(json)?.to_le_bytes()),
        Kind::Sfixed32 => wire.fixed32(tag, whole::<i32>(json)?.to_le_bytes()),
        Kind::Fixed64 => wire.fixed64(tag, whole::<u64>(json)?.to_le_bytes()),
        Kind::Sfixed64 => wire.fixed64(tag, whole::<i64>(json)?.to_le_bytes()),
        Kind::Float => wire.fixed32(tag, float(json)?.to_le_bytes()),
        Kind::Double => wire.fixed64(tag, double(json)?.to_le_bytes()),
        Kind::Enum(names) => {
            let number = match json {
                Json::Text(name) => names.get_value_by_name(name)?.number(),
                _ => names.get_value(whole(json)?)?.number(),
            };
            wire.varint(tag, i64::from(number).cast_unsigned());
        }
        Kind::Message(_) => return None,
    }
    Some(())
}

/// A whole number: `7`, `7.0`, `7e0`, or the same as text, as 64-bit numbers are written.
fn whole<T: TryFrom<i128>>(json: &Json<'_>) -> Option<T> {
    let whole = match json {
        Json::Whole(whole) => *whole,
        Json::Double(double) => exactly(*double)?,
        Json::Text(text) => text.parse().ok()?,
        _ => return None,
    };
    T::try_from(whole).ok()
}

fn exactly(double: f64) -> Option<i128> {
    /// 2^64: no field takes more.
    const BEYOND: f64 = 18_446_744_073_709_551_616.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole, and within the range")]
    (double.fract() == 0.0 && double.abs() < BEYOND).then_some(double as i128)
}

fn double(json: &Json<'_>) -> Option<f64> {
    match json {
        #[expect(clippy::cast_precision_loss, reason = "as a double holds it")]
        Json::Whole(whole) => Some(*whole as f64),
        Json::Double(double) => Some(*double),
        // Also `NaN`, `Infinity` and `-Infinity`.
        Json::Text(text) => text.parse().ok(),
        _ => None,
    }
}

/// A double of a float's range.
fn float(json: &Json<'_>) -> Option<f32> {
    let double = double(json)?;
    #[expect(clippy::cast_possible_truncation, reason = "as a float holds it")]
    (!double.is_finite() || double.abs() <= f64::from(f32::MAX)).then_some(double as f32)
}

fn bytes(json: &Json<'_>) -> Option<Vec<u8>> {
    let Json::Text(text) = json else { return None };
    let alphabet = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    GeneralPurpose::new(alphabet, BASE64).decode(text.as_bytes()).ok()
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}
