// Rules of session_redis_way. All that is heard and said is kept here, a frame at a time, and compared as a whole.
//
//   1 an address is known with the last beat of an intact reply, and is that of its sender; it is not known
//     without one, nor any longer after the connection has ended;
//   2 nothing is asked while it is known, and not twice within a second (here: three milliseconds);
//   3 a question is a whole frame without gaps, with the bytes of RFC 826; frames of the transmitter pass as they
//     are, and neither has a beat inside the other.
//
// What is assumed: a frame that is heard begins with its first beat; the transmitter's beats wait until they are
// taken; time does not go back.
module session_redis_way_rules
  import tare_pkg::*;
#(
    parameter logic [31:0] EachMs = 32'd3
) (
    input logic        clk_i,
    input logic        rst_ni,
    input logic [47:0] mac_i,
    input logic [31:0] address_i,
    input logic [31:0] peer_address_i,
    input logic [31:0] millis_i,
    input logic        wants_i,
    input logic        forget_i,
    input logic        heard_valid_i,
    input received_t   heard_i,
    input logic        beat_valid_i,
    input beat_t       beat_i,
    input logic        beat_ready_i
);
  logic known, asked, found, beat_ready, beat_valid;
  logic [47:0] peer_mac;
  beat_t beat;
  session_redis_way #(
      .EachMs(EachMs)
  ) one (
      .clk_i,
      .rst_ni,
      .mac_i,
      .address_i,
      .peer_address_i,
      .millis_i,
      .wants_i,
      .forget_i,
      .known_o     (known),
      .peer_mac_o  (peer_mac),
      .asked_o     (asked),
      .found_o     (found),
      .heard_valid_i,
      .heard_i,
      .beat_valid_i,
      .beat_ready_o(beat_ready),
      .beat_i,
      .beat_valid_o(beat_valid),
      .beat_ready_i,
      .beat_o      (beat)
  );

  logic begun_q = 1'b0;
  logic [47:0] mac_q;
  logic [31:0] address_q, peer_address_q, millis_q;

  // What is heard: the first six beats, the first byte on the wire lowest.
  logic [383:0] frame_q;
  logic [3:0] beats_q;
  logic inside_q;
  logic [383:0] frame;
  always_comb begin
    frame = frame_q;
    for (int unsigned i = 0; i < 6; i++) if (beats_q == 4'(i)) frame[64*i+:64] = heard_i.beat.data;
  end
  function automatic logic [7:0] byte_of(input logic [383:0] of_frame, input int unsigned at);
    return of_frame[8*at+:8];
  endfunction
  function automatic logic [47:0] six(input logic [383:0] of_frame, input int unsigned at);
    return {
      byte_of(of_frame, at), byte_of(of_frame, at + 1), byte_of(of_frame, at + 2),
      byte_of(of_frame, at + 3), byte_of(of_frame, at + 4), byte_of(of_frame, at + 5)
    };
  endfunction
  function automatic logic [31:0] four(input logic [383:0] of_frame, input int unsigned at);
    return {
      byte_of(of_frame, at), byte_of(of_frame, at + 1), byte_of(of_frame, at + 2), byte_of(of_frame, at + 3)
    };
  endfunction
  wire ends = heard_valid_i && heard_i.beat.last;
  wire is_reply = ends && !heard_i.beat.bad && beats_q >= 4'd6
    && six(frame, 0) == mac_i && six(frame, 32) == mac_i
    && four(frame, 12) == 32'h0806_0001 && four(frame, 16) == 32'h0800_0604 && frame[8*20+:16] == 16'h0200
    && four(frame, 28) == peer_address_i && four(frame, 38) == address_i && !frame[8*22];

  // What is said.
  logic [383:0] said_q, said;
  logic [2:0] own_q;          // beats of a question that have left
  logic own_inside_q, other_inside_q;
  wire other = beat_valid_i && beat_ready;
  wire own = beat_valid && beat_ready_i && !other;
  always_comb begin
    said = said_q;
    for (int unsigned i = 0; i < 6; i++) if (own_q == 3'(i)) said[64*i+:64] = beat.data;
  end
  wire is_question = own_q == 3'd5 && beat.final_byte == 3'd1 && six(said, 0) == '1 && six(said, 6) == mac_i
    && four(said, 12) == 32'h0806_0001 && four(said, 16) == 32'h0800_0604 && said[8*20+:16] == 16'h0100
    && six(said, 22) == mac_i && four(said, 28) == address_i && six(said, 32) == '0
    && four(said, 38) == peer_address_i;

  logic reply_q, forgot_q, was_known_q, has_asked_q, waited_q;
  logic [47:0] sender_q, was_mac_q;
  logic [31:0] asked_q;
  beat_t waiting_q;
  always_ff @(posedge clk_i) begin
    begun_q        <= 1'b1;
    mac_q          <= mac_i;
    address_q      <= address_i;
    peer_address_q <= peer_address_i;
    millis_q       <= millis_i;
    if (heard_valid_i) begin
      frame_q  <= frame;
      inside_q <= !heard_i.beat.last;
      beats_q  <= heard_i.beat.last ? '0 : beats_q == '1 ? beats_q : beats_q + 4'd1;
    end
    reply_q     <= is_reply;
    sender_q    <= six(frame, 22);
    forgot_q    <= forget_i;
    was_known_q <= known;
    was_mac_q   <= peer_mac;
    if (asked) begin
      has_asked_q <= 1'b1;
      asked_q     <= millis_q;
    end
    if (own) begin
      said_q       <= said;
      own_q        <= beat.last ? '0 : own_q + 3'd1;
      own_inside_q <= !beat.last;
    end
    if (other) other_inside_q <= !beat_i.last;
    waited_q  <= beat_valid_i && !beat_ready;
    waiting_q <= beat_i;
  end

  always_comb begin
    assume (rst_ni);
    assume (heard_i.beat.first == !inside_q);
    assume (millis_i < 32'd64);
    if (begun_q) begin
      assume (mac_i == mac_q && address_i == address_q && peer_address_i == peer_address_q);
      assume (millis_i >= millis_q);
      assume (!waited_q || beat_valid_i && beat_i == waiting_q);
    end else begin
      assume (!one.known_q && !one.waits_q && !one.asks_q && !one.inside_q && one.at_q == '0);
      assume (beats_q == '0 && !inside_q && own_q == '0 && !own_inside_q && !other_inside_q);
      assume (!was_known_q && !reply_q && !has_asked_q && !waited_q && !one.asked_o && !one.found_o);
    end
    if (begun_q) begin
      rule_1 : assert (known == ((was_known_q || reply_q) && !forgot_q));
      if (known) rule_1_mac : assert (peer_mac == (was_known_q ? was_mac_q : sender_q));
      if (asked) rule_2 : assert (!was_known_q && (!has_asked_q || millis_q - asked_q >= EachMs));
      if (own) rule_3 : assert (!other_inside_q && (!beat.last || is_question));
      if (other) rule_3_other : assert (!own_inside_q && beat_ready_i && beat_valid && beat == beat_i);
      if (own_inside_q) rule_3_whole : assert (beat_valid);
    end
    cover_found : cover (begun_q && known && has_asked_q);
    cover_again : cover (begun_q && asked && has_asked_q);
    cover_between : cover (begun_q && own && beat.last && waited_q);
  end
endmodule
