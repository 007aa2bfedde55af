//! Containers in which policies keep the order of pages: linked lists, queues and a ring, all
//! indexed by page.

pub mod links;
pub mod lists;
pub mod queues;
pub mod ring;
