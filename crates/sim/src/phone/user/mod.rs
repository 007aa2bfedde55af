//! The user and the apps: the launches, each app's pages and their use. This module does not depend
//! on page frames.

pub mod apps;
pub mod background;
pub mod display;
pub mod heap;
pub mod layout;
pub mod nature;
pub mod owner;
pub mod plan;
