// Writes the results of a load to Redis, over a wire of its own: the board's other port. Each departure is an
// event of 32 bytes; 40 of them are an entry of a stream.
//
//   results ──► buffer ──► transmit ──► frames
//                 ▲           ▲
//                 └─ settle ─ sender ◄── receive ◄── frames
//
// Nobody waits for it: what has no room is dropped and counted, so the load is the same, to the cycle, with
// Redis and without. The host writes the head of the command, up to its events, which names the stream's key
// and has a place for the command's number, the id of its entry:
//
//   *5 $4 XADD $KEY key $10 00000001-0 $6 events $1280 ...
//
// and, if a connection has to begin with AUTH or SELECT, the bytes of these. Where the Redis is on the wire,
// session_redis_way finds out.
//
// Frames are those of session_receive and session_transmit, which see a load with one session.
module session_redis
  import tare_pkg::*;
  import session_pkg::*;
  import session_engine_pkg::*;
  import session_redis_pkg::*;
(
    input  logic           clk_i,
    input  logic           rst_ni,
    // The host: set before the reset is over.
    input  redis_t         redis_i,
    input  logic           head_write_i,
    input  logic [8:0]     head_place_i,   // the last byte of the head is at 511, the greeting's first at 0
    input  logic [7:0]     head_byte_i,
    input  logic           result_valid_i,
    input  result_t        result_i,
    output redis_counted_t counted_o,
    output held_t        events_o,       // with `stored` and `refused`: of that command
    // The wire.
    input  logic           heard_valid_i,
    input  received_t      heard_i,
    output logic           beat_valid_o,
    input  logic           beat_ready_i,
    output beat_t          beat_o
);
  logic [15:0] port;
  logic known, wants, forget, asked, found;
  logic [47:0] peer_mac;
  load_t load;
  always_comb begin
    load = '0;
    load.mac = redis_i.mac;
    load.address = redis_i.address;
    load.port = port;
    load.peer_mac = redis_i.peer_mac != '0 ? redis_i.peer_mac : peer_mac;
    load.peer_address = redis_i.peer_address;
    load.peer_port = redis_i.peer_port;
    load.sessions = 14'd1;
  end

  // Events, and when they leave although their command has room.
  time_t now;
  logic open, settle, dropped;
  ahead_t complete;
  held_t events;
  logic [31:0] flush_at_q;
  event_row_t row;
  event_bits_t event_;
  always_ff @(posedge clk_i) if (!open) flush_at_q <= now.millis + 32'(redis_i.flush);
  session_redis_buffer buffer (
      .clk_i,
      .rst_ni,
      .result_valid_i(result_valid_i && redis_i.head != '0),
      .result_i,
      .flush_i       (open && !precedes(now.millis, flush_at_q)),
      .open_o        (open),
      .complete_o    (complete),
      .settle_i      (settle),
      .events_o      (events),
      .dropped_o     (dropped),
      .read_i        (row),
      .read_o        (event_)
  );

  // What is heard: acknowledgments, and replies.
  logic arrived_valid, arrived_ready, heard_valid, heard_ready;
  heard_segment_t arrived, heard;
  logic question_valid, question_ready;
  question_t question;
  logic text_write, echo_write;
  ring_t text_write_place, text_read_place, text_free;
  logic [7:0] text_write_byte, text_byte_q;
  logic [7:0] echo_write_byte, echo_fetched_q, echo_byte_q, echo_write_place, echo_read_place;
  logic reads;  // a byte is that of the place two of these ago
  logic [7:0] text[2048];
  logic [7:0] echo_bytes[256];
  always_ff @(posedge clk_i) begin
    if (text_write) text[text_write_place[10:0]] <= text_write_byte;
    text_byte_q <= text[text_read_place[10:0]];
    if (echo_write) echo_bytes[echo_write_place] <= echo_write_byte;
    if (reads) begin
      echo_fetched_q <= echo_bytes[echo_read_place];
      echo_byte_q    <= echo_fetched_q;
    end
  end
  session_receive receive (
      .clk_i,
      .rst_ni,
      .load_i          (load),
      .valid_i         (heard_valid_i),
      .received_i      (heard_i),
      .valid_o         (arrived_valid),
      .ready_i         (arrived_ready),
      .segment_o       (arrived),
      .ring_write_o    (text_write),
      .ring_place_o    (text_write_place),
      .ring_byte_o     (text_write_byte),
      .ring_free_i     (text_free),
      .question_valid_o(question_valid),
      .question_ready_i(question_ready),
      .question_o      (question),
      .echo_write_o    (echo_write),
      .echo_place_o    (echo_write_place),
      .echo_byte_o     (echo_write_byte),
      .foreign_o       (),
      .stray_o         (),
      .bad_o           (),
      .full_o          ()
  );
  stream_fifo #(
      .T    (heard_segment_t),
      .Depth(16)
  ) heard_queue (
      .clk_i,
      .rst_ni,
      .valid_i(arrived_valid),
      .ready_o(arrived_ready),
      .data_i (arrived),
      .valid_o(heard_valid),
      .ready_i(heard_ready),
      .data_o (heard),
      .empty_o()
  );

  // The connection.
  logic sending_valid, sending_ready;
  sending_t sending;
  event_row_t sending_row, row_q;
  redis_counted_t of_sender;
  session_redis_sender sender (
      .clk_i,
      .rst_ni,
      .redis_i,
      .port_o         (port),
      .known_i        (known || redis_i.peer_mac != '0),
      .wants_o        (wants),
      .forget_o       (forget),
      .complete_i     (complete),
      .settle_o       (settle),
      .heard_valid_i  (heard_valid),
      .heard_ready_o  (heard_ready),
      .heard_i        (heard),
      .text_place_o   (text_read_place),
      .text_byte_i    (text_byte_q),
      .text_free_o    (text_free),
      .sending_valid_o(sending_valid),
      .sending_ready_i(sending_ready),
      .sending_o      (sending),
      .row_o          (sending_row),
      .now_o          (now),
      .counted_o      (of_sender)
  );
  always_comb begin
    counted_o = of_sender;
    counted_o.dropped = dropped;
    counted_o.asked = asked;
    counted_o.found = found;
  end
  always_ff @(posedge clk_i) events_o <= events;

  // A command's bytes: its head at negative places, its events, and the end of the line.
  logic [7:0] head_bytes[512];
  place_t place;
  logic [7:0] head_byte_q;
  logic [4:0] byte_q;
  logic is_head_q, is_end_q;
  event_row_t last_row_q;
  logic [7:0] command_byte, command_byte_q;
  assign row = reads ? row_q + event_row_t'(place[10:5]) : last_row_q;
  always_ff @(posedge clk_i) begin
    last_row_q <= row;
    if (head_write_i) head_bytes[head_place_i] <= head_byte_i;
    if (reads) begin
      head_byte_q    <= head_bytes[place[8:0]];
      byte_q         <= place[4:0];
      is_head_q      <= place[11];
      is_end_q       <= place >= place_t'(EventsBytes);
      command_byte_q <= command_byte;
    end
    if (sending_ready) row_q <= sending_row;
  end
  always_comb begin
    command_byte = event_[8*byte_q+:8];
    if (is_end_q) command_byte = byte_q[0] ? 8'h0a : 8'h0d;
    if (is_head_q) command_byte = head_byte_q;
  end

  logic made_valid, made_ready;
  beat_t made;
  session_redis_way way (
      .clk_i,
      .rst_ni,
      .mac_i         (redis_i.mac),
      .address_i     (redis_i.address),
      .peer_address_i(redis_i.peer_address),
      .millis_i      (now.millis),
      .wants_i       (wants && redis_i.peer_mac == '0),
      .forget_i      (forget),
      .known_o       (known),
      .peer_mac_o    (peer_mac),
      .asked_o       (asked),
      .found_o       (found),
      .heard_valid_i,
      .heard_i,
      .beat_valid_i  (made_valid),
      .beat_ready_o  (made_ready),
      .beat_i        (made),
      .beat_valid_o,
      .beat_ready_i,
      .beat_o
  );
  session_transmit transmit (
      .clk_i,
      .rst_ni,
      .load_i           (load),
      .departure_valid_i(1'b0),
      .departure_ready_o(),
      .departure_i      ('0),
      .other_valid_i    (sending_valid),
      .other_ready_o    (sending_ready),
      .other_i          (sending),
      .hurry_i          (1'b0),
      .question_valid_i (question_valid),
      .question_ready_o (question_ready),
      .question_i       (question),
      .read_o           (reads),
      .echo_place_o     (echo_read_place),
      .echo_byte_i      (echo_byte_q),
      .template_place_o (place),
      .template_byte_i  (command_byte_q),
      .wait_i           ('1),
      .valid_o          (made_valid),
      .ready_i          (made_ready),
      .beat_o           (made),
      .started_o        (),
      .started_index_o  (),
      .arp_o            (),
      .echo_o           (),
      .delayed_o        ()
  );
endmodule
