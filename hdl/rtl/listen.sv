// Reads what matters out of received frames as they pass: whether the rules of the filter hold, and the signature.
//
// `valid_o` is high for one cycle for each frame, in the cycle after its last beat.
//
// Rules (formal/listen.sv): 1 one arrival for each last beat, none else. The rest is simulated.
module listen
  import tare_pkg::*;
  import receive_pkg::*;
(
    input  logic     clk_i,
    input  logic     rst_ni,
    input  listen_t  config_i,
    input  logic     valid_i,
    input  heard_t   beat_i,
    input  ticks_t   stamp_i,
    output logic     valid_o,
    output arrival_t arrival_o
);
  // Of the beat that comes next; 64 = behind all places.
  logic [6:0] index_q;
  logic [10:0] beats_q;
  logic [Rules-1:0] held_q;
  logic [7:0][15:0] signature_q;
  logic [3:0] found_q;  // halfwords of the signature so far, up to 8

  wire [6:0] index = beat_i.first ? '0 : index_q;
  wire [10:0] beats = beat_i.first ? '0 : beats_q;
  wire [3:0] found = beat_i.first ? '0 : found_q;

  logic [3:0][15:0] lanes;
  always_comb for (int unsigned l = 0; l < 4; l++) lanes[l] = swap16(beat_i.data[16*l+:16]);

  // How many halfwords of this beat count.
  wire [2:0] whole = 3'((4'(beat_i.final_byte) + 4'd1) >> 1);

  logic [Rules-1:0] held;
  always_comb begin
    for (int unsigned i = 0; i < Rules; i++) begin
      automatic rule_t rule = config_i.rules[i];
      held[i] = !beat_i.first && held_q[i];
      if (!rule.enable) held[i] = 1'b1;
      else if ({1'b0, rule.at[7:2]} == index && {1'b0, rule.at[1:0]} < whole) held[i] = ((lanes[rule.at[1:0]] ^ rule.value) & rule.mask) == 0;
    end
  end

  wire last = valid_i && beat_i.last;

  always_ff @(posedge clk_i) begin
    valid_o <= last;
    if (valid_i) begin
      index_q <= index[6] ? index : index + 1'b1;
      beats_q <= beats + 1'b1;
      held_q  <= held;
      found_q <= found;
      for (int unsigned k = 0; k < 8; k++) begin
        automatic logic [7:0] at = config_i.signature_at + 8'(k);
        if ({1'b0, at[7:2]} == index && {1'b0, at[1:0]} < whole) begin
          signature_q[k] <= lanes[at[1:0]];
          if (k == 7) found_q <= 4'd8;
        end
      end
      arrival_o.bad   <= beat_i.bad;
      arrival_o.pass  <= !beat_i.bad && held == '1;
      arrival_o.bytes <= {beats, 3'b0} + 14'(beat_i.final_byte) + 14'd1;
      arrival_o.stamp <= stamp_i;
    end
    if (!rst_ni) valid_o <= 1'b0;
  end

  assign arrival_o.has_signature = config_i.signed_ && found_q[3];
  assign arrival_o.sequence_ = {signature_q[0], signature_q[1], signature_q[2][15:8]};
  assign arrival_o.stream = signature_q[2][4:0];
  assign arrival_o.sent = {signature_q[4], signature_q[5], signature_q[6], signature_q[7]};
endmodule
