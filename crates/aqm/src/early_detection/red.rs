//! RED: early detection with a linear curve, and nothing more.

use super::EarlyDetection;
use crate::parts::curve::Linear;

/// The policy.
pub struct Red {
    /// Average, spacing and drop curve.
    pub(crate) core: EarlyDetection<Linear>,
}

crate::early_detection_policy!(Red);
