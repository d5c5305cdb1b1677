//! What is kept of both ends of a link, beside its nodes: credits, frames that may have to be sent again, and errors. The port
//! that transmits knows what the far end does with a frame, and runs ahead by the time that frames take.

pub mod credits;
pub mod errors;
pub mod retry;
