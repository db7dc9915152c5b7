// IANA's special-purpose registries for IPv4 (RFC 6890): the first and the last address of each range.
export const privateIpv4 =
  `0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.255.255.255
  169.254.0.0 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.0 192.0.2.255 192.88.99.1
  192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255
  224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.255`.split(/\s+/)

// Unspecified, loopback, IPv4-mapped and -compatible, NAT64 (both prefixes), discard, Teredo, ORCHID, documentation (both),
// 6to4, ULA (AWS's metadata among them), link-local, the old site-local, multicast, SRv6, and unassigned ranges.
export const privateIpv6 = `:: ::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:a00:1 ::127.0.0.1 ::10.0.0.1 64:ff9b::7f00:1
  64:ff9b::10.0.0.1 64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1:: 2001:2::1 2001:10::1 2001:20::1 2001:1ff:ffff::
  2001:db8::1 2001:db8:ffff::1 3fff::1 3fff:fff::1 2002:7f00:1:: 2002:a00:1:: 2002:c0a8:101::1 2002:a9fe:a9fe:: fc00::1
  fd00::1 fd00:ec2::254 fdff:ffff::1 fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 ff02::1 ff0e::1 5f00::1 4000::1 1fff::1
  fe80::1%eth0 ::ffff:0:7f00:1`.split(/\s+/)

/** URLs that are forbidden for webhooks and RPC endpoints in production, by attack. */
const groups = {
  'other spellings of IPv4': `http://2130706433 http://0x7f000001 http://0x7F000001 http://017700000001 http://0x7f.1
    http://0x7f.0x0.0x0.0x1 http://0177.0.0.1 http://0177.0.0.01 http://127.1 http://127.0.1 http://127.0.0.1.
    http://0 http://0.0 http://0x0 http://00 http://10.1 http://0xa.1 http://167772161 http://3232235777
    http://0xc0a80101 http://0300.0250.1.1 http://2852039166 http://0xa9fea9fe http://0251.0376.0251.0376
    http://0xa9.0xfe.0xa9.0xfe http://169.254.43518 http://169.16689662 http://000000177.0.0.1 http://127.0.0.1:80
    http://127.000.000.001 http://4294967295 http://4294967296 http://127.0.0.256 http://0x100.0.0.1 http://1.2.3.4.5`,
  'other writing systems': `http://①②⑦.⓪.⓪.① http://１２７.0.0.1 http://127。0。0。1 http://127．0．0．1 http://127｡0｡0｡1
    http://１６９.２５４.１６９.２５４ http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ http://ｌｏｃａｌｈｏｓｔ http://𝐥𝐨𝐜𝐚𝐥𝐡𝐨𝐬𝐭 http://local\u00adhost
    http://loc\u200balhost http://localhoſt http://metadata.google｡internal http://ⅼocalhost`,
  'percent-encoding': `http://%6c%6f%63%61%6c%68%6f%73%74 http://127%2e0%2e0%2e1 http://%31%32%37.0.0.1
    http://169.254.169.254%2f http://%5b::1%5d http://localhost%2e http://localhost%00.example.com
    http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1`,
  'spellings of IPv6': `http://[0:0:0:0:0:0:0:1] http://[0000:0000:0000:0000:0000:0000:0000:0001] http://[::00001]
    http://[::FFFF:7F00:1] http://[0:0:0:0:0:ffff:127.0.0.1] http://[::ffff:169.254.169.254] http://[FE80::1]
    http://[FD00:EC2::254] http://[fe80::1%25eth0] http://[::1]. http://[::1 http://::1 http://[2002:A9FE:A9FE::]
    http://[64:FF9B::169.254.169.254] http://[0:0:0:0:0:0:7f00:1]`,
  'names of this machine, this network and the metadata services': `http://localhost http://LOCALHOST http://LocalHost.
    http://localhost:6379 http://a.localhost http://a.b.LOCALHOST. http://printer.local
    http://PRINTER.LOCAL. http://db.internal http://metadata.google.internal http://METADATA.GOOGLE.INTERNAL.
    http://instance-data.ec2.internal http://nas.home.arpa http://kubernetes.default.svc.cluster.local
    http://local http://internal http://home.arpa`,
  'metadata services by address': `http://169.254.169.254/latest/meta-data/ http://169.254.170.2/v2/credentials
    http://169.254.169.123 http://100.100.100.200/latest/meta-data/ http://192.0.0.192/opc/v2/
    http://[fd00:ec2::254]/latest/ http://[fd20:ce::254]`,
  'names and passwords in the URL': `http://user@example.com http://user:pass@example.com http://:pass@example.com
    http://example.com@127.0.0.1 http://127.0.0.1@example.com http://user%40example.com@example.com
    https://8.8.8.8:80@10.0.0.1`,
  'other schemes': `ftp://example.com file:///etc/passwd gopher://example.com javascript:alert(1) data:text/plain,x
    ws://example.com wss://example.com unix:/var/run/docker.sock http+unix://%2Fvar%2Frun http: http:// https://
    about:blank blob:http://example.com/x jar:http://example.com!/ ldap://example.com //example.com example.com`,
  'parsers misled': `http:127.0.0.1 http:/127.0.0.1 http:\\\\127.0.0.1 http://127.0.0.1\\@example.com
    http://127.0.0.1#@example.com http://127.0.0.1?@example.com HTTP://127.0.0.1
    hTTps://LOCALHOST http://example.com:99999 http://exa[mple.com http://example.com:80:80`,
}

export const hostileUrls = Object.values(groups).flatMap((group) => group.split(/\s+/))
