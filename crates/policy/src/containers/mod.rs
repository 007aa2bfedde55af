//! What policies keep pages in: lists over page indices, queues, a ring.

pub mod links;
pub mod lists;
pub mod queues;
pub mod ring;
