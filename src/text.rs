//! Text: cleaning, measuring, cutting.
