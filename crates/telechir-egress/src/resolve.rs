//! Finds a host's addresses. A trait, so that a test can have a name that changes its mind.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// Addresses on their way.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Whatever knows the addresses of names.
pub trait Resolve: Debug + Send + Sync {
    /// All addresses of this name now.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// This machine's own resolver, with its hosts file.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Resolve for System {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
