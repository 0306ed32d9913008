//! Classes of IP addresses: public, or reachable only from this machine or network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// The class of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressClass {
    /// On the public Internet, and in none of the other classes.
    Public,
    /// In a private network (RFC 1918, RFC 4193, carrier-grade NAT).
    Private,
    /// The loopback interface of this machine.
    Loopback,
    /// On the local link only.
    LinkLocal,
    /// A cloud's instance metadata service, wherever its address is.
    Metadata,
    /// Multicast, broadcast, documentation, benchmarks, reserved.
    Special,
    /// A name without any address.
    Unresolved,
}

impl AddressClass {
    /// Classifies an address. An IPv4 address inside an IPv6 one counts as that IPv4 address.
    pub fn of(address: IpAddr) -> Self {
        if is_metadata(address) {
            return Self::Metadata;
        }
        Self::by_range(address)
    }

    /// Classifies by range alone, also for a metadata service.
    pub(crate) fn by_range(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => match embedded_v4(address) {
                Some(inner) => of_v4(inner),
                None => of_v6(address),
            },
        }
    }

    /// The name in policy files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link_local",
            Self::Metadata => "metadata",
            Self::Special => "special",
            Self::Unresolved => "unresolved",
        }
    }
}

/// Metadata services: AWS (also its containers), Azure, Google, Alibaba, Oracle, Tencent, Scaleway,
/// OpenStack. Some are in ranges that look harmless.
const METADATA_V4: [Ipv4Addr; 7] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(169, 254, 0, 23),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_V6: [Ipv6Addr; 5] = [
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x42),
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
];

fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => METADATA_V4.contains(&address),
        IpAddr::V6(address) => {
            METADATA_V6.contains(&address)
                || embedded_v4(address).is_some_and(|inner| METADATA_V4.contains(&inner))
        }
    }
}

fn of_v4(address: Ipv4Addr) -> AddressClass {
    let [a, b, c, _] = address.octets();
    // 0.0.0.0/8 reaches this machine on Linux.
    if address.is_loopback() || a == 0 {
        AddressClass::Loopback
    } else if address.is_private() || (a == 100 && (b & 0xc0) == 64) {
        AddressClass::Private
    } else if address.is_link_local() {
        AddressClass::LinkLocal
    } else if a >= 224
        || address.is_documentation()
        || (a, b, c) == (192, 0, 0)
        || (a, b, c) == (192, 88, 99)
        || (a == 198 && (b & 0xfe) == 18)
    {
        AddressClass::Special
    } else {
        AddressClass::Public
    }
}

fn of_v6(address: Ipv6Addr) -> AddressClass {
    let first = address.segments()[0];
    if address.is_loopback() || address.is_unspecified() {
        AddressClass::Loopback
    } else if first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0 {
        AddressClass::Private
    } else if first & 0xffc0 == 0xfe80 {
        AddressClass::LinkLocal
    } else if is_local_nat64(address) {
        AddressClass::Private
    } else if first & 0xe000 == 0x2000 && !is_documentation(address) && !is_protocols(address) {
        AddressClass::Public
    } else {
        AddressClass::Special
    }
}

fn is_documentation(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    (first, second) == (0x2001, 0x0db8) || first == 0x3fff
}

/// In the block for protocols (benchmarks, identifiers), which has no hosts.
fn is_protocols(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    first == 0x2001 && second < 0x0200
}

/// In a network's own prefix for translation to IPv4.
fn is_local_nat64(address: Ipv6Addr) -> bool {
    address.segments()[..3] == [0x64, 0xff9b, 1]
}

/// The IPv4 address inside a mapped, compatible, NAT64, 6to4 or Teredo address.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let low = || Ipv4Addr::from((u32::from(s[6]) << 16) | u32::from(s[7]));
    match s {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => Some(low()),
        [0, 0, 0, 0, 0, 0, high, rest] if high != 0 || rest > 1 => Some(low()),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(low()),
        // A local prefix may embed the address anywhere; a public one proves nothing.
        [0x64, 0xff9b, 1, high, rest, next, ..] => {
            let [first, second] = high.to_be_bytes();
            let [third, fourth] = [rest.to_be_bytes()[1], next.to_be_bytes()[0]];
            let early = Ipv4Addr::new(first, second, third, fourth);
            let shows = |inner: &Ipv4Addr| of_v4(*inner) != AddressClass::Public;
            [low(), early]
                .into_iter()
                .filter(|inner| !inner.is_unspecified())
                .find(shows)
        }
        [0x2002, high, rest, ..] => Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(rest))),
        [0x2001, 0, ..] => Some(Ipv4Addr::from(!u32::from(low()))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(class: AddressClass, addresses: &[&str]) {
        for address in addresses {
            assert_eq!(
                AddressClass::of(address.parse().unwrap()),
                class,
                "{address}"
            );
        }
    }

    /// The first and the last address of each range, and their neighbours.
    #[test]
    fn ranges_end_where_they_should() {
        check(
            AddressClass::Public,
            &[
                "1.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.0",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.1.0",
                "192.1.0.0",
                "192.88.98.255",
                "192.88.100.0",
                "192.167.255.255",
                "192.169.0.0",
                "193.0.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "199.18.0.0",
                "203.0.112.255",
                "203.0.114.0",
                "223.255.255.255",
                "101.64.0.1",
                "99.64.0.1",
                "2000::1",
                "2001:200::1",
                "2001:db7::1",
                "2001:db9::1",
                "3ffe::1",
            ],
        );
        check(
            AddressClass::Private,
            &[
                "10.0.0.0",
                "10.255.255.255",
                "100.64.0.0",
                "100.127.255.255",
                "172.16.0.0",
                "172.31.255.255",
                "192.168.0.0",
                "192.168.255.255",
                "fc00::",
                "fdff::1",
                "fec0::1",
                "feff::1",
                "64:ff9b:1:808:8:800::",
            ],
        );
        check(
            AddressClass::LinkLocal,
            &["169.254.0.0", "169.254.255.255", "fe80::", "febf::1"],
        );
        check(
            AddressClass::Special,
            &[
                "192.0.0.0",
                "192.0.0.255",
                "192.0.2.1",
                "192.88.99.0",
                "192.88.99.255",
                "198.18.0.0",
                "198.19.255.255",
                "198.51.100.1",
                "203.0.113.1",
                "224.0.0.0",
                "240.0.0.0",
                "255.255.255.255",
                "2001:db8::1",
                "2001:1ff::1",
                "2001:2::1",
                "3fff::1",
                "4000::1",
                "fb00::1",
                "fe00::1",
                "ff02::1",
                "100::1",
            ],
        );
        check(
            AddressClass::Loopback,
            &["0.255.255.255", "127.255.255.255"],
        );
    }

    #[test]
    fn an_address_inside_of_another_counts() {
        check(
            AddressClass::Private,
            &[
                "::ffff:10.0.0.1",
                "::ffff:0:10.0.0.1",
                "::10.0.0.1",
                "64:ff9b::10.0.0.1",
                "2002:a00:1::1",
                "2001:0:1::f5ff:fffe",
                "64:ff9b:1:a00:0:100::",
            ],
        );
        check(
            AddressClass::Public,
            &[
                "::ffff:8.8.8.8",
                "::8.8.8.8",
                "64:ff9b::8.8.8.8",
                "2002:808:808::1",
            ],
        );
        check(AddressClass::Loopback, &["::2", "::1:0"]);
        check(
            AddressClass::Metadata,
            &[
                "::ffff:169.254.169.254",
                "2002:a9fe:a9fe::1",
                "64:ff9b::a9fe:a9fe",
                "fd00:ec2::254",
            ],
        );
        for class in [
            AddressClass::Public,
            AddressClass::Private,
            AddressClass::Loopback,
            AddressClass::LinkLocal,
            AddressClass::Metadata,
            AddressClass::Special,
            AddressClass::Unresolved,
        ] {
            assert_eq!(serde_json::json!(class), class.name());
        }
    }

    #[test]
    fn sorts_addresses() {
        check(
            AddressClass::Loopback,
            &["127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::"],
        );
        check(
            AddressClass::Private,
            &[
                "10.0.0.1",
                "172.16.0.1",
                "192.168.1.1",
                "100.64.0.1",
                "fd00::1",
            ],
        );
        check(AddressClass::LinkLocal, &["169.254.1.1", "fe80::1"]);
        check(
            AddressClass::Metadata,
            &[
                "169.254.169.254",
                "169.254.170.2",
                "168.63.129.16",
                "100.100.100.200",
                "fd00:ec2::254",
                "fd20:ce::254",
                "fe80::a9fe:a9fe",
            ],
        );
        check(
            AddressClass::Special,
            &[
                "224.0.0.1",
                "255.255.255.255",
                "198.18.0.1",
                "192.0.2.1",
                "203.0.113.9",
                "240.0.0.1",
                "2001:10::1",
                "100::1",
                "ff02::1",
                "2001:db8::1",
            ],
        );
        check(
            AddressClass::Public,
            &["93.184.216.34", "8.8.8.8", "2606:4700::1111"],
        );
    }

    #[test]
    fn an_embedded_address_is_classified() {
        check(
            AddressClass::Loopback,
            &[
                "::ffff:127.0.0.1",
                "64:ff9b::7f00:1",
                "2002:7f00:1::",
                "::127.0.0.1",
            ],
        );
        check(
            AddressClass::Metadata,
            &[
                "::ffff:169.254.169.254",
                "2001:0:1::5601:5601",
                "64:ff9b::a9fe:a9fe",
                "64:ff9b:1:a9fe:a9:fe00::",
                "2002:a9fe:a9fe::1",
            ],
        );
        check(
            AddressClass::Private,
            &[
                "64:ff9b:1::808:808",
                "64:ff9b:1::a00:1",
                "::ffff:0:10.0.0.1",
            ],
        );
        check(AddressClass::Public, &["::ffff:8.8.8.8"]);
    }
}
