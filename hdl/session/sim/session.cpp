// session_engine as a process: its wire ends at a TAP device, where a real server may be, or at a responder
// of this process.
//
// Time is simulated: a cycle is 8 ns, however long it takes. TCP's clock may run faster than the cycles
// (--micro), so that its time-outs are in proportion to those of a real server while the simulation is slower
// than the server's clock.
//
// At the end a line of JSON has what happened; --results FILE has a line for each departure: outcome,
// session, status, due, then ticks after that: sent, connected, first byte, done; bytes of the body; then
// those of the request and of the whole response, by what passed on the wire; then, of a complete response
// with --sums 1, the module's sum of the body, and that of the bytes which passed (- for none).
//
// With --host_fd the lines go to a socket, too, and beside them
//
//   now TICK                 that time has come
//   connected SESSION TICKS  from a SYN to its answer; with --each 1 the departures have that
//   bin NAME BIN COUNT       at the end: of the module's histogram of that name, unless the count is 0
//   row N COUNT... SUM...    of the n-th interval, when the module has closed it, and at the end: departures by
//                            outcome; of those that were done, the sums of gross, net, first byte and bytes of
//                            bodies
//   way SESSION TICK         at the end: a request that left at TICK has no outcome
//   end NAME VALUE...        the last line; without it, this process did not end by itself
//
// SIGINT, SIGTERM and the end of the socket end the simulation, with everything that is known by then.
#include <csignal>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "Vsession_sim.h"
#include "bodies.hpp"
#include "descriptors.hpp"
#include "dues.hpp"
#include "ethernet.hpp"
#include "options.hpp"
#include "redis.hpp"
#include "reports.hpp"
#include "responder.hpp"
#include "rows.hpp"
#include "verilated.h"

namespace {

constexpr unsigned LookCycles = 64;
// The host hears of the time that often, and is listened to.
constexpr uint64_t HostCycles = 64 * LookCycles;
constexpr unsigned MostSessions = SESSIONS;
const char* const Outcomes[] = {"done", "missed",    "status", "length",  "malformed",   "hole",
                                "cut",  "timed_out", "reset",  "refused", "unreachable", "aborted",
                                "sum"};
constexpr size_t OutcomesMost = std::size(Outcomes);
const char* const Counted[] = {"delayed", "opened", "retransmitted", "excess", "result_lost", "echo",
                               "arp",     "full",   "bad",           "stray",  "foreign",     "uncounted",
                               "late"};
constexpr size_t Counts = std::size(Counted);
// In the module's order.
const char* const Figures[] = {"gross", "net", "connect", "first_byte"};
constexpr unsigned Bins = 1024;

volatile std::sig_atomic_t signalled = 0;
void heed(int signal) { signalled = signal; }

// What the wire shows of a session.
struct Shown {
    bool asks = false;       // a request has left that has no outcome
    bool opens = false;      // a SYN has left that has no answer
    bool is_open = false;    // it was answered, and neither a FIN of ours nor an RST has passed
    uint64_t asked_at = 0;
    uint32_t first = 0;      // of its SYN
    uint32_t next = 0;       // behind what has left
    uint32_t bytes = 0;      // of the request
    uint32_t in_next = 0, in_bytes = 0;  // the same of the response
    std::string text;        // of the response, if bodies are summed
    bool is_torn = false;    // a part of the text is missing
};

// Times in a bin of one of the module's histograms.
struct Bin {
    unsigned figure, bin;
    uint32_t count;
};

class Simulation {
  public:
    explicit Simulation(const Options& o) : o_(o), responder_(plan()), dues_(o) {
        if (o.has("tap")) {
            tap_ = std::make_unique<Tap>(o.text("tap", ""), o.text("tap_address", "198.18.0.1"));
            wire_.emplace(tap_->fd);
        } else if (o.has("wire_fd")) {
            wire_.emplace(static_cast<int>(o.number("wire_fd", 0)));
        }
        context_.randReset(o.has("seed") ? 2 : 0);
        context_.randSeed(static_cast<int>(o.number("seed", 0)));
        top_ = std::make_unique<Vsession_sim>(&context_);
        if (o.has("results")) reports_.open_file(o.text("results", ""));
        if (o.has("host_fd")) reports_.open_host(static_cast<int>(o.number("host_fd", 0)));
        departures_ = o.number("departures", 1000);
        delay_ = o.number("delay", 0);
        port_ = o.number("port", 10'000);
        each_ = o.number("each", 0);
        sums_ = o.number("sums", 0);
        redis_.emplace(o, *top_);
        rows_.emplace(*top_, OutcomesMost, o.number("row_ticks", 0) != 0);
        shown_.resize(MostSessions);
        backload_ = o.number("backload", 0);
    }

    int run() {
        top_->rst_ni = 0;
        for (int i = 0; i < 4; i++) tick();
        set_load();
        redis_->set();
        redis_->write_head([this] { tick(); });
        top_->rst_ni = 1;
        tick();
        write_templates();
        write_sums();
        write_pieces();
        top_->start_i = 1;
        tick();
        top_->start_i = 0;
        const uint64_t most = o_.number("cycles", 2'000'000'000), linger = o_.number("linger", 20'000);
        uint64_t over = 0, told = 0;
        bool stopped = false;
        while (!stopped && cycles_ < most &&
               (!over || cycles_ < over + linger)) {
            if (wire_) look();
            redis_->look();
            for (unsigned i = 0; i < LookCycles; i++) cycle();
            if (!over && given_ == departures_) over = cycles_;
            stopped = signalled != 0;
            if (!reports_.has_host() || cycles_ < told + HostCycles) continue;
            told = cycles_;
            tell_time(top_->now_o);
            if (!reports_.pass_on() || reports_.is_over()) stopped = true;
        }
        reports_.close_file();
        if (!signalled) redis_->wait(o_.number("redis_linger", 20'000'000), [this] { tick_redis(); });
        // Cycles in which histograms are read are no part of the load.
        const uint64_t end = top_->now_o;
        read_histograms();
        read_rows();
        if (reports_.has_host()) tell_end(end);
        else report();
        return signalled ? 128 + signalled : 0;
    }

  private:
    Responder::Plan plan() const {
        Responder::Plan p;
        std::string head =
            "HTTP/1.1 " + std::to_string(o_.number("status", 200)) + " OK\r\nServer: responder\r\n";
        const size_t whole = o_.number("answer_bytes", 300);
        if (o_.number("chunked", 0)) {
            head += "Transfer-Encoding: chunked\r\n\r\n";
            std::string body;
            for (size_t n : {1u, 10u, 255u}) {
                char size[16];
                std::snprintf(size, sizeof size, "%zx\r\n", n);
                body += size + letters(n) + "\r\n";
            }
            p.answer = head + body + "0\r\n\r\n";
        } else {
            size_t length = 0;
            std::string text;
            for (int i = 0; i < 4; i++) {
                text = head + "Content-Length: " + std::to_string(length) + "\r\n\r\n";
                length = whole > text.size() ? whole - text.size() : 0;
            }
            p.answer =
                head + "Content-Length: " + std::to_string(length) + "\r\n\r\n" + letters(length);
        }
        p.most = o_.number("most", 1460);
        p.swapped = o_.number("swapped", 0);
        p.closes = o_.number("closes", 0);
        p.silent = o_.number("silent", 0);
        p.resets = o_.number("resets", 0);
        p.drops = static_cast<unsigned>(o_.number("drops", 0));
        p.cut = o_.number("cut", 0);
        p.alters = static_cast<unsigned>(o_.number("alters", 0));
        p.first = o_.has("template") ? "" : "GET /";
        return p;
    }

    static std::string letters(size_t count) {
        std::string text;
        while (text.size() < count) text.push_back(static_cast<char>('a' + text.size() % 26));
        return text;
    }

    void set_load() {
        const uint64_t peer_mac = tap_ ? tap_->mac : o_.number("peer_mac", 0x021800000001, 16);
        const std::string peer = o_.text("tap_address", "198.18.0.1");
        const bool open = dues_.are_known();
        Packed p;
        p.put(o_.number("mac", 0x021800000002, 16), 48).put(address_of(o_.text("address", "198.18.0.2")), 32);
        p.put(port_, 16);
        p.put(peer_mac, 48).put(address_of(peer), 32).put(o_.number("peer_port", 80), 16);
        const size_t templates = std::max(o_.texts("path").size(), o_.texts("template").size());
        p.put(o_.number("sessions", 64), 14).put(std::max<size_t>(1, templates), 7);
        p.put(each_, 1).put(o_.number("fin", 0), 1).put(open, 1).put(departures_, 32);
        p.put(o_.number("first", MostSessions + 1000), 48).put(dues_.pieces(), 6);
        p.put(o_.number("open_gap", 1000), 32).put(o_.number("patience", 1000), 32);
        p.put(o_.number("open_patience", 5000), 32);
        p.put(o_.number("micro", 125), 8).put(o_.number("secret", 0x5eed1234), 32);
        p.put(o_.number("status_low", 200), 10).put(o_.number("status_high", 299), 10);
        p.put(o_.number("length_low", 0), 28).put(o_.number("length_high", (1 << 28) - 1), 28);
        p.put(sums_, 1).put(o_.number("same", 0), 1);
        p.put(o_.number("row_first", 0), 48).put(o_.number("row_ticks", 0), 32);
        const uint64_t mss = o_.number("mss", 1460);
        p.put(0, 1).put(0, 17).put(0, 32).put(o_.number("quarantine", 1000), 32);
        p.put(mss, 16).put(mss, 16).put(536, 16).put(1, 16);
        p.put(o_.number("shift", 7), 4).put(o_.number("stamps", 0), 1).put(o_.number("sack", 1), 1).put(0, 1);
        p.into(top_->load_i);
    }

    // A request: its bytes, those of the field as zeros.
    struct Template {
        std::string text;
        unsigned field = 0;
        size_t place = 0;
    };

    Template of_path(const std::string& path) const {
        Template made;
        std::string& text = made.text;
        text = "GET " + path + " HTTP/1.1\r\nHost: " + o_.text("tap_address", "198.18.0.1") + "\r\n";
        if (each_ && !o_.number("fin", 0)) text += "Connection: close\r\n";
        for (const auto& [name, kind] : {std::pair<std::string, unsigned>{"{sequence}", 1}, {"{random}", 2}}) {
            const size_t at = text.find(name);
            if (at == std::string::npos) continue;
            made.field = kind, made.place = at;
            text.replace(at, name.size(), std::string(8, '\0'));
        }
        const size_t whole = o_.number("request_bytes", 0);
        if (whole > text.size() + 7) text += "X-P: " + std::string(whole - text.size() - 9, 'p') + "\r\n";
        text += "\r\n";
        return made;
    }

    // FIELD:PLACE:HEX
    static Template of_hex(const std::string& given) {
        const auto wrong = [&] { return std::runtime_error("--template " + given + ": expected FIELD:PLACE:HEX"); };
        const size_t first = given.find(':'), second = given.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) throw wrong();
        const std::string field = given.substr(0, first), hex = given.substr(second + 1);
        Template made;
        made.field = field == "sequence" ? 1 : field == "random" ? 2 : 0;
        made.place = std::strtoul(given.c_str() + first + 1, nullptr, 10);
        if ((!made.field && field != "none") || hex.empty() || hex.size() % 2) throw wrong();
        for (size_t at = 0; at < hex.size(); at += 2) {
            if (!std::isxdigit(hex[at]) || !std::isxdigit(hex[at + 1])) throw wrong();
            made.text.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
        }
        if (made.field && made.place + 8 > made.text.size()) throw wrong();
        if (made.field) made.text.replace(made.place, 8, 8, '\0');
        return made;
    }

    void write_templates() {
        std::vector<Template> templates;
        for (const std::string& given : o_.texts("template")) templates.push_back(of_hex(given));
        if (templates.empty())
            for (const std::string& path : o_.texts("path")) templates.push_back(of_path(path));
        if (templates.empty()) templates.push_back(of_path("/"));
        size_t start = 0, number = 0;
        for (const Template& made : templates) {
            if (start + made.text.size() > 4096 || number == 64)
                throw std::runtime_error("the requests are more than 64, or have more than 4096 bytes");
            for (char c : made.text) {
                top_->template_write_i = 1;
                top_->template_place_i = static_cast<uint16_t>(start);
                top_->template_byte_i = static_cast<uint8_t>(c);
                tick();
                start++;
            }
            top_->template_write_i = 0;
            top_->entry_write_i = 1;
            top_->entry_place_i = static_cast<uint8_t>(number++);
            top_->entry_len_i = static_cast<uint16_t>(made.text.size());
            top_->entry_start_i = static_cast<uint16_t>(start - made.text.size());
            top_->entry_sum_i = static_cast<uint16_t>(
                sum_of(reinterpret_cast<const uint8_t*>(made.text.data()), made.text.size()));
            top_->entry_field_i = static_cast<uint8_t>(made.field);
            top_->entry_field_place_i = static_cast<uint16_t>(made.place);
            tick();
            top_->entry_write_i = 0;
        }
    }

    void write_sums() {
        size_t number = 0;
        for (const std::string& given : o_.texts("sum")) {
            top_->sum_write_i = 1;
            top_->sum_place_i = static_cast<uint8_t>(number++);
            top_->sum_i = static_cast<uint32_t>(std::strtoul(given.c_str(), nullptr, 16));
            tick();
        }
        top_->sum_write_i = 0;
    }

    void write_pieces() {
        size_t place = 0;
        for (uint32_t word : dues_.words()) {
            top_->piece_write_i = 1;
            top_->piece_place_i = static_cast<uint16_t>(place++);
            top_->piece_word_i = word;
            tick();
        }
        top_->piece_write_i = 0;
    }

    void tick() {
        // The host feeds listed due times as soon as there is room.
        top_->due_valid_i = dues_.has_next();
        if (top_->due_valid_i) top_->due_i = dues_.next();
        const bool fed = top_->due_valid_i && top_->due_ready_o && top_->rst_ni;
        if (fed) dues_.pass();
        if (top_->rst_ni) redis_->before();
        top_->clk_i = 1;
        top_->redis_clk_i = redis_->is_on();
        top_->eval();
        top_->clk_i = 0;
        top_->redis_clk_i = 0;
        top_->eval();
        if (top_->rst_ni) redis_->behind();
        cycles_++;
    }

    void tick_redis() {
        redis_->before();
        top_->redis_clk_i = 1;
        top_->eval();
        top_->redis_clk_i = 0;
        top_->eval();
        redis_->behind();
    }

    void cycle() {
        // Towards the module.
        if (at_ == in_.size() && gap_ == 0) {
            in_.clear();
            at_ = 0;
            if (!waiting_.empty() && waiting_.front().first <= cycles_) {
                arrives(waiting_.front().second);
                in_ = on_the_wire(waiting_.front().second);
                waiting_.pop_front();
            } else if (backload_) {
                in_ = junk_;
            }
        }
        if (at_ < in_.size()) {
            top_->rx_dv_i = 1;
            top_->rxd_i = in_[at_++];
            if (at_ == in_.size()) gap_ = kGapBytes;
        } else {
            top_->rx_dv_i = 0;
            if (gap_) gap_--;
        }
        rows_->ask();
        tick();
        // From the module.
        if (top_->tx_er_o) broken_++;
        if (top_->tx_en_o) {
            if (out_.empty()) out_start_ = cycles_;
            out_.push_back(top_->txd_o);
        } else if (!out_.empty()) {
            left(frame_of(out_));
            out_.clear();
        }
        if (rows_->passed()) report_row();
        if (top_->result_valid_o) result();
        if (top_->connected_valid_o && !each_)
            reports_.tell("connected " + std::to_string(top_->connected_index_o) + " " +
                          std::to_string(top_->connected_ticks_o) + "\n");
        for (uint32_t set = top_->counted_o; set; set &= set - 1) counted_[__builtin_ctz(set)]++;
        if (top_->round_o) {
            if (last_round_) longest_round_ = std::max(longest_round_, cycles_ - last_round_);
            last_round_ = cycles_;
        }
    }

    void left(const Bytes& frame) {
        frames_out_++;
        if (frame.empty()) {
            broken_++;
            return;
        }
        if (!first_out_) first_out_ = out_start_;
        bool wrong = false;
        const auto segment = Segment::read(frame, wrong);
        if (wrong) wrong_++;
        if (segment && segment->control & Syn && syns_.size() < 64) syns_.push_back(out_start_);
        if (segment) leaves(*segment);
        if (wire_) {
            if (!wire_->send_frame(frame)) lost_++;
        } else if (segment) {
            for (Bytes& back : responder_.answer(*segment))
                waiting_.emplace_back(cycles_ + delay_, std::move(back));
        }
    }

    // The module's time at a cycle of this process.
    uint64_t time_at(uint64_t cycle) const { return top_->now_o - (cycles_ - cycle); }

    Shown* shown(uint16_t port) {
        const uint64_t index = static_cast<uint16_t>(port - port_);
        return index < shown_.size() ? &shown_[index] : nullptr;
    }

    void leaves(const Segment& segment) {
        Shown* session = shown(segment.from_port);
        if (!session) return;
        const bool opens = segment.control & Syn, has_text = !segment.text.empty();
        if (opens && (!session->opens || session->first != segment.seq)) {
            session->opens = true;
            session->first = segment.seq;
            session->next = segment.seq + 1;
            session->bytes = 0;
        }
        if (!session->asks && (each_ ? opens : has_text)) {
            session->asks = true;
            session->asked_at = time_at(out_start_);
        }
        if (segment.control & (Fin | Rst)) closes(*session);
        pass(segment, session->next, session->bytes);
    }

    // Text that is new, of which the next byte was to have the number `next`.
    static void pass(const Segment& segment, uint32_t& next, uint32_t& bytes) {
        const uint32_t end = segment.seq + static_cast<uint32_t>(segment.text.size());
        const auto fresh = static_cast<int32_t>(end - next);
        if (segment.text.empty() || fresh <= 0) return;
        bytes += static_cast<uint32_t>(fresh);
        next = end;
    }

    // Before that text is passed.
    static void gather(Shown& session, const Segment& segment) {
        const auto before = static_cast<int32_t>(session.in_next - segment.seq);
        const auto size = static_cast<int32_t>(segment.text.size());
        if (size == 0 || before >= size) return;
        if (before < 0) session.is_torn = true;
        session.text.append(segment.text.begin() + std::max(before, 0), segment.text.end());
    }

    void closes(Shown& session) {
        if (session.is_open) open_--;
        session.is_open = false;
    }

    // A frame starts on the way in.
    void arrives(const Bytes& frame) {
        bool wrong = false;
        const auto segment = Segment::read(frame, wrong);
        Shown* session = segment ? shown(segment->to_port) : nullptr;
        if (!session) return;
        if (segment->control & Rst) closes(*session);
        if (!(segment->control & Syn)) {
            if (sums_) gather(*session, *segment);
            return pass(*segment, session->in_next, session->in_bytes);
        }
        if (!session->opens || !(segment->control & Ack)) return;
        session->opens = false;
        session->in_next = segment->seq + 1;
        session->in_bytes = 0;
        if (!session->is_open) most_open_ = std::max(most_open_, ++open_);
        session->is_open = true;
    }

    void look() {
        if (wire_->ended()) throw std::runtime_error("the device at the other end of the wire is gone");
        while (waiting_.size() < 64) {
            auto frame = wire_->receive();
            if (!frame) break;
            frames_in_++;
            if (frame->size() <= 1514) waiting_.emplace_back(0, std::move(*frame));
        }
    }

    void result() {
        given_++;
        outcomes_[top_->outcome_o]++;
        if (top_->outcome_o != 1 && top_->sent_o) {
            least_ = std::min(least_, top_->sent_o), greatest_ = std::max(greatest_, top_->sent_o);
            sum_ += top_->sent_o, sent_++;
        }
        if (top_->outcome_o == 0) {
            if (!first_due_) first_due_ = top_->due_o;
            last_due_ = top_->due_o;
            first_done_ = first_done_ ? first_done_ : top_->due_o + top_->done_o;
            last_done_ = top_->due_o + top_->done_o;
        }
        uint32_t bytes = 0, in_bytes = 0;
        std::string sum = "-", passed = "-";
        const char* const outcome = Outcomes[top_->outcome_o];
        if (top_->outcome_o != 1) {
            Shown& session = shown_[top_->index_o];
            session.asks = false;
            if (each_) session.opens = false;
            std::swap(bytes, session.bytes);
            std::swap(in_bytes, session.in_bytes);
            const std::string name = outcome;
            if (sums_ && (name == "done" || name == "status" || name == "length" || name == "sum")) {
                const auto body = session.is_torn ? std::nullopt : body_of(session.text);
                sum = std::to_string(top_->sum_o);
                if (body) passed = std::to_string(crc_of(*body));
                if (body && crc_of(*body) != top_->sum_o) wrong_sums_++;
            }
            session.text.clear();
            session.is_torn = false;
        }
        reports_.line("%s %u %u %llu %u %u %u %u %u %u %u %s %s\n", outcome, top_->index_o, top_->status_o,
                      ull(top_->due_o), top_->sent_o, top_->connected_o, top_->first_o, top_->done_o, top_->size_o,
                      bytes, in_bytes, sum.c_str(), passed.c_str());
    }

    // What the module counted; nothing that comes meanwhile is.
    void read_histograms() {
        top_->hold_i = 1;
        for (unsigned figure = 0; figure < std::size(Figures); figure++) {
            for (unsigned bin = 0; bin < Bins; bin++) {
                top_->read_i = 1;
                top_->read_figure_i = static_cast<uint8_t>(figure);
                top_->read_bin_i = static_cast<uint16_t>(bin);
                for (unsigned i = 0; !top_->read_valid_o || i == 0; i++) {
                    if (i == 64) throw std::runtime_error("a histogram does not answer");
                    tick();
                }
                top_->read_i = 0;
                if (top_->read_o) bins_.push_back({figure, bin, top_->read_o});
                tick();
            }
        }
    }

    // Those that the module has not closed.
    void read_rows() {
        rows_->ends();
        while (rows_->has_more()) {
            rows_->ask();
            tick();
            if (rows_->passed()) report_row();
        }
    }

    void report_row() {
        std::string line = std::to_string(rows_->number());
        for (const uint64_t word : rows_->words()) line += " " + std::to_string(word);
        reports_.tell("row " + line + "\n");
        std::replace(line.begin(), line.end(), ' ', ',');
        row_list_ += (row_list_.empty() ? "[" : ", [") + line + "]";
    }

    void tell_time(uint64_t tick) { reports_.tell("now " + std::to_string(tick) + "\n"); }

    void tell_end(uint64_t now) {
        tell_time(now);
        for (size_t index = 0; index < shown_.size(); index++)
            if (shown_[index].asks)
                reports_.tell("way " + std::to_string(index) + " " + std::to_string(shown_[index].asked_at) + "\n");
for (const Bin& one : bins_)
            reports_.tell(std::string("bin ") + Figures[one.figure] + " " + std::to_string(one.bin) + " " +
                          std::to_string(one.count) + "\n");
        std::string end = "end results " + std::to_string(given_);
        for (size_t i = 0; i < Counts; i++) end += std::string(" ") + Counted[i] + " " + std::to_string(counted_[i]);
        end += " most_open " + std::to_string(most_open_) + " frames_out " + std::to_string(frames_out_) + " frames_in " + std::to_string(frames_in_);
        end += " frames_wrong " + std::to_string(wrong_ + broken_) + " frames_lost " + std::to_string(lost_);
        if (redis_->is_on()) end += redis_->words();
        reports_.tell(end + "\n");
        reports_.pass_on();
    }

    void report() {
        std::printf("{\"cycles\": %llu, \"departures\": %llu, \"results\": %llu, \"outcomes\": {", ull(cycles_),
                    ull(departures_), ull(given_));
        for (size_t i = 0; i < OutcomesMost; i++)
            std::printf("%s\"%s\": %llu", i ? ", " : "", Outcomes[i], ull(outcomes_[i]));
        std::printf("}, \"counted\": {");
        for (size_t i = 0; i < Counts; i++)
            std::printf("%s\"%s\": %llu", i ? ", " : "", Counted[i], ull(counted_[i]));
        const double cycles_of_results = static_cast<double>(last_done_ - first_done_);
        const double per_s =
            outcomes_[0] > 1 ? static_cast<double>(outcomes_[0] - 1) * 125e6 / cycles_of_results : 0;
        const double mean = sent_ ? static_cast<double>(sum_) / static_cast<double>(sent_) : 0;
        std::printf("}, \"sent_after_due\": {\"least\": %u, \"mean\": %.4f, ", sent_ ? least_ : 0, mean);
        std::printf("\"greatest\": %u, \"count\": %llu}, \"done_per_s\": %.1f, ", greatest_, ull(sent_), per_s);
        std::printf("\"frames_out\": %llu, \"frames_in\": %llu, ", ull(frames_out_), ull(frames_in_));
        std::printf("\"frames_wrong\": %llu, \"frames_broken\": %llu, \"frames_lost\": %llu, ", ull(wrong_),
                    ull(broken_), ull(lost_));
        std::printf("\"requests\": %llu, \"wrong_requests\": %llu, ", ull(responder_.requests),
                    ull(responder_.wrong_requests));
        std::printf("\"wrong_sums\": %llu, ", ull(wrong_sums_));
        std::printf("\"longest_round\": %llu, \"syns\": [", ull(longest_round_));
        for (size_t i = 0; i < syns_.size() && i < 64; i++) std::printf("%s%llu", i ? ", " : "", ull(syns_[i]));
        std::printf("], \"bins\": [");
        for (size_t i = 0; i < bins_.size(); i++)
            std::printf("%s[\"%s\", %u, %u]", i ? ", " : "", Figures[bins_[i].figure], bins_[i].bin, bins_[i].count);
        std::printf("], \"rows\": [%s]", row_list_.c_str());
        if (redis_->is_on()) std::printf(", \"redis\": %s", redis_->json().c_str());
        std::printf("}\n");
    }

    static unsigned long long ull(uint64_t value) { return value; }

    const Options& o_;
    Responder responder_;
    Dues dues_;
    VerilatedContext context_;
    std::unique_ptr<Vsession_sim> top_;
    std::unique_ptr<Tap> tap_;
    std::optional<WireEnd> wire_;
    Reports reports_;
    std::vector<Shown> shown_;
    std::vector<Bin> bins_;
    std::optional<RowReader<Vsession_sim>> rows_;
    std::optional<RedisEnd<Vsession_sim>> redis_;
    std::string row_list_;
    uint64_t delay_ = 0, port_ = 0, open_ = 0, most_open_ = 0;
    bool each_ = false, sums_ = false;
    uint64_t cycles_ = 0, departures_ = 0, given_ = 0, outcomes_[16] = {}, counted_[32] = {};
    uint64_t sum_ = 0, sent_ = 0, first_due_ = 0, last_due_ = 0, first_done_ = 0, last_done_ = 0;
    uint64_t longest_round_ = 0, last_round_ = 0;
    uint32_t least_ = ~0u, greatest_ = 0;
    uint64_t frames_out_ = 0, frames_in_ = 0, wrong_ = 0, broken_ = 0, lost_ = 0;
    uint64_t wrong_sums_ = 0;
    uint64_t out_start_ = 0, first_out_ = 0;
    std::deque<std::pair<uint64_t, Bytes>> waiting_;
    std::vector<uint64_t> syns_;
    Bytes in_, out_, junk_ = on_the_wire(Bytes(60, 0xff));
    size_t at_ = 0;
    unsigned gap_ = 0;
    bool backload_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    struct sigaction action {};
    action.sa_handler = heed;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    try {
        const Options options(argc, argv);
        return Simulation(options).run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tare-session-sim: %s\n", error.what());
        return 2;
    }
}
