//! The inspector's page: the files of `assets/`, embedded, and the headers that everything at its address is sent with.
//!
//! It opens no socket and knows no RPC. The daemon listens, checks who asks, and answers the page's calls.
