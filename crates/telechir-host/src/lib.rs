//! The session host: one process per session owns the devices, and every interface is a client of
//! its socket. Holds the messages, both ends of the socket, and the approval queue; the devices are
//! handed in.
