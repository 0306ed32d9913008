//! Words are read off real pixels, in a confinement.

mod reading;
