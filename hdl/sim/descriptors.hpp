// The two descriptors of the process: the socket of the host, and the wire.
#pragma once

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

#include "ethernet.hpp"

inline bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// A socket of packets; each is one frame of the link.
class Host {
  public:
    explicit Host(int fd) : fd_(fd) {
        int type = 0;
        socklen_t size = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) throw std::runtime_error("--host-fd " + std::to_string(fd) + ": " + std::strerror(errno));
        if (type != SOCK_SEQPACKET) throw std::runtime_error("--host-fd " + std::to_string(fd) + " is no SOCK_SEQPACKET socket");
        buffer_.resize(65536);
    }

    // Receives a packet, if there is one. `gone` is set once the host has closed its end.
    std::optional<Bytes> receive(bool& gone) {
        const ssize_t n = recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (n > 0) return Bytes(buffer_.begin(), buffer_.begin() + n);
        if (n < 0) {
            gone = !would_wait();
            return {};
        }
        // An empty packet, or end of file.
        pollfd look{fd_, POLLRDHUP, 0};
        poll(&look, 1, 0);
        if (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) gone = true;
        return Bytes();
    }

    // Returns false if the packet must be sent again later.
    bool send_packet(const Bytes& packet, bool& gone) {
        const ssize_t n = send(fd_, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && (would_wait() || errno == ENOBUFS)) return false;
        if (n < 0) gone = true;
        return true;
    }

    int fd() const { return fd_; }

  private:
    int fd_;
    Bytes buffer_;
};

// The other end of the wire: a TAP, a packet socket, or a socket of packets. If it can go down and come back, it is checked periodically.
class WireEnd {
  public:
    explicit WireEnd(int fd) : fd_(fd), buffer_(65536) {
        const int flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) throw std::runtime_error("--wire-fd " + std::to_string(fd) + ": " + std::strerror(errno));
        sockaddr_ll address{};
        socklen_t size = sizeof address;
        packet_ = getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 && address.sll_family == AF_PACKET;
        interface_ = packet_ ? address.sll_ifindex : 0;
        const int on = 1;
        if (packet_) setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on);
        if (packet_) look();
    }

    bool up() const { return up_; }
    bool ended() const { return ended_; }
    // Not reported: an interface whose peer may go down.
    bool may_go_down() const { return packet_ && !ended_; }
    int fd() const { return fd_; }

    // A packet socket reports once that its interface went down, and never that it is up again.
    void look() {
        if (!packet_ || ended_) return;
        ifreq request{};
        if (!if_indextoname(static_cast<unsigned>(interface_), request.ifr_name) || ioctl(fd_, SIOCGIFFLAGS, &request) != 0)
            up_ = false;
        else
            up_ = (request.ifr_flags & IFF_UP) && (request.ifr_flags & IFF_RUNNING);
    }

    std::optional<Bytes> receive() {
        if (ended_) return {};
        size_t tag_at = 0;
        uint16_t tag = 0, type = 0;
        const ssize_t n = packet_ ? receive_packet(tag_at, tag, type) : read(fd_, buffer_.data(), buffer_.size());
        if (n < 0) {
            if (!would_wait()) failed();
            return {};
        }
        if (n == 0) {
            if (!packet_) ended_ = true, up_ = false;
            return {};
        }
        if (!packet_) up_ = true;
        Bytes frame(buffer_.begin(), buffer_.begin() + n);
        if (tag_at) {
            const uint8_t bytes[4] = {static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type), static_cast<uint8_t>(tag >> 8), static_cast<uint8_t>(tag)};
            frame.insert(frame.begin() + tag_at, bytes, bytes + 4);
        }
        return frame;
    }

    // Returns false if the other end has no room. The frame is then lost, as on a real wire.
    bool send_frame(const Bytes& frame) {
        if (ended_) return false;
        if (write(fd_, frame.data(), frame.size()) >= 0) {
            if (!packet_) up_ = true;
            return true;
        }
        if (!would_wait() && errno != ENOBUFS && errno != EMSGSIZE) failed();
        return false;
    }

  private:
    void failed() {
        up_ = false;
        // EIO: the TAP is down; ENETDOWN: the interface of a packet socket is. Both may come back.
        if (errno != EIO && errno != ENETDOWN && errno != ENXIO) ended_ = true;
    }

    // Skips what this machine itself sent on the interface. Puts back the VLAN tag that the kernel keeps apart from the frame.
    ssize_t receive_packet(size_t& tag_at, uint16_t& tag, uint16_t& type) {
        for (;;) {
            sockaddr_ll from{};
            iovec part{buffer_.data(), buffer_.size()};
            alignas(cmsghdr) char control[CMSG_SPACE(sizeof(tpacket_auxdata))];
            msghdr message{};
            message.msg_name = &from;
            message.msg_namelen = sizeof from;
            message.msg_iov = &part;
            message.msg_iovlen = 1;
            message.msg_control = control;
            message.msg_controllen = sizeof control;
            const ssize_t n = recvmsg(fd_, &message, MSG_DONTWAIT);
            if (n < 0) return n;
            if (from.sll_pkttype == PACKET_OUTGOING) continue;
            for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
                if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA) continue;
                tpacket_auxdata aux;
                std::memcpy(&aux, CMSG_DATA(c), sizeof aux);
                if (n >= 12 && (aux.tp_status & TP_STATUS_VLAN_VALID)) {
                    tag_at = 12;
                    tag = aux.tp_vlan_tci;
                    type = aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid : 0x8100;
                }
            }
            return n;
        }
    }

    int fd_, interface_ = 0;
    bool packet_ = false, up_ = true, ended_ = false;
    Bytes buffer_;
};
