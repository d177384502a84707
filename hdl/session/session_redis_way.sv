// Finds the hardware address of the Redis, by ARP (RFC 826): it asks all who has the Redis's address, once a
// second until the one that has it replies, and again after a connection has ended, since another host may have
// the address then. Its frames go between those of the transmitter:
//
//   transmitter ──► beat_i ──┬──► beat_o        a question waits until a frame of the transmitter is over,
//   question ────────────────┘                  and a frame of the transmitter until the question is
//
// Questions of others, and pings, are answered elsewhere (session_receive, session_transmit).
//
// Rules (formal/session_redis_way_rules.sv):
//   1 an address is known only from a reply to us, of the Redis's address, in a frame that is intact;
//   2 while it is known, nothing is asked; and between two questions is a second;
//   3 frames are whole: no beat of a question between those of another frame, nor the other way round.
module session_redis_way
  import tare_pkg::*;
  import session_pkg::*;
#(
    parameter logic [31:0] EachMs = 32'd1000
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic [47:0] mac_i,
    input  logic [31:0] address_i,
    input  logic [31:0] peer_address_i,
    input  logic [31:0] millis_i,
    input  logic        wants_i,    // to know it
    input  logic        forget_i,
    output logic        known_o,
    output logic [47:0] peer_mac_o,
    output logic        asked_o,    // for a cycle: a question begins
    output logic        found_o,    // a reply came
    input  logic        heard_valid_i,
    input  received_t   heard_i,
    // From the transmitter, and to the wire.
    input  logic        beat_valid_i,
    output logic        beat_ready_o,
    input  beat_t       beat_i,
    output logic        beat_valid_o,
    input  logic        beat_ready_i,
    output beat_t       beat_o
);
  // Ethernet, IPv4, six and four bytes; what follows is the operation.
  localparam logic [63:0] Kinds = {16'h0806, 16'h0001, 16'h0800, 16'h0604};
  localparam logic [15:0] Question = 16'd1;
  localparam logic [15:0] Reply = 16'd2;
  localparam logic [2:0] LastBeat = 3'd5;

  // The first byte on the wire is the highest one.
  function automatic logic [63:0] in_order(input logic [63:0] data);
    for (int unsigned i = 0; i < 8; i++) in_order[8*i+:8] = data[8*(7-i)+:8];
  endfunction

  // What is heard, beat by beat: fields of a reply lie in them as
  //
  //   0 to us, and the first two bytes of the sender   3 the sender's last four, its address
  //   1 the other four, type, kind of addresses        4 our hardware address, half of our address
  //   2 kind, lengths, reply, two bytes of the sender  5 the other half
  wire heard_t heard = heard_i.beat;
  wire [63:0] said = in_order(heard.data);
  logic [2:0] at_q;
  logic fits_q;
  logic [47:0] sender_q;
  wire [2:0] at = heard.first ? 3'd0 : at_q;
  logic fits;
  always_comb begin
    unique case (at)
      3'd0:    fits = said[63:16] == mac_i;
      3'd1:    fits = said[31:0] == Kinds[63:32];
      3'd2:    fits = said[63:16] == {Kinds[31:0], Reply};
      3'd3:    fits = said[31:0] == peer_address_i;
      3'd4:    fits = said[63:16] == mac_i && said[15:0] == address_i[31:16];
      3'd5:    fits = said[63:48] == address_i[15:0];
      default: fits = 1'b1;
    endcase
  end
  wire fits_all = fits && (heard.first || fits_q);
  // Too short, damaged, or of a sender that no host can be.
  wire is_reply = heard_valid_i && heard.last && fits_all && !heard.bad && at > LastBeat && !sender_q[40];

  always_ff @(posedge clk_i) begin
    if (heard_valid_i) begin
      fits_q <= fits_all;
      at_q   <= at == '1 ? at : at + 3'd1;
      if (at == 3'd2) sender_q[47:32] <= said[15:0];
      if (at == 3'd3) sender_q[31:0] <= said[63:32];
    end
    if (!rst_ni) at_q <= '0;
  end

  // What is asked.
  logic known_q, waits_q, asks_q, inside_q;
  logic [2:0] beat_q;
  logic [31:0] again_q;
  wire time_come = !waits_q || !precedes(millis_i, again_q);
  wire starts = !asks_q && !known_q && wants_i && time_come && !inside_q && !beat_valid_i;
  wire [335:0] question = {
    48'hffff_ffff_ffff, mac_i, Kinds, Question, mac_i, address_i, 48'd0, peer_address_i
  };
  wire [383:0] padded = {question, 48'd0};
  wire is_last = beat_q == LastBeat;
  beat_t own;
  assign own = '{
          last: is_last,
          final_byte: is_last ? 3'd1 : 3'd7,
          data: in_order(padded[64*(5-32'(beat_q))+:64])
      };

  assign beat_valid_o = asks_q || beat_valid_i;
  assign beat_o = asks_q ? own : beat_i;
  assign beat_ready_o = beat_ready_i && !asks_q;
  assign known_o = known_q;

  always_ff @(posedge clk_i) begin
    asked_o <= starts;
    found_o <= is_reply && !known_q;
    if (beat_valid_i && beat_ready_o) inside_q <= !beat_i.last;
    if (starts) begin
      asks_q  <= 1'b1;
      beat_q  <= '0;
      waits_q <= 1'b1;
      again_q <= millis_i + EachMs;
    end
    if (asks_q && beat_ready_i) begin
      beat_q <= beat_q + 3'd1;
      if (is_last) asks_q <= 1'b0;
    end
    if (is_reply && !known_q) begin
      known_q    <= 1'b1;
      peer_mac_o <= sender_q;
    end
    if (forget_i) known_q <= 1'b0;
    if (!rst_ni) begin
      known_q  <= 1'b0;
      waits_q  <= 1'b0;
      asks_q   <= 1'b0;
      inside_q <= 1'b0;
    end
  end
endmodule
