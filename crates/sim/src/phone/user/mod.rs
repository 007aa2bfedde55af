//! The user and the apps: which app is launched when, what each app's pages are and how it uses them. Nothing here knows of frames.

pub mod apps;
pub mod background;
pub mod layout;
pub mod nature;
pub mod owner;
pub mod plan;
