//! Functions whose last bit is the same on every machine, as foreign code calls them.

/// e to the power x.
pub extern "C" fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Natural logarithm of x.
pub extern "C" fn log(x: f64) -> f64 {
    libm::log(x)
}

/// Natural logarithm of 1 + x.
pub extern "C" fn log1p(x: f64) -> f64 {
    libm::log1p(x)
}

/// x to the power y.
pub extern "C" fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}
