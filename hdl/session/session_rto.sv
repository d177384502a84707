// The retransmission timeout of a target, from round-trip times (RFC 6298). As path.rs in the crate; a sample is taken
// 42 cycles after it came, and one that comes meanwhile is left out.
module session_rto
  import tcp_spec_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        valid_i,
    input  logic [31:0] micros_i,
    output logic        sampled_o,
    output logic [16:0] rto_o       // in milliseconds
);
  typedef enum logic [2:0] {
    Idle,
    Deviate,
    Smooth,
    Sum,
    Divide
  } state_e;

  localparam logic [10:0] Thousand = 11'd1000;

  state_e state_q;
  logic [31:0] rtt_q, srtt_q, rttvar_q, deviation_q;
  logic [34:0] sum_q;
  logic [35:0] total_q;  // shifted out at the top; the quotient comes in at the bottom
  logic [10:0] rest_q;
  logic [5:0] bit_q;

  wire [33:0] variance = {rttvar_q, 2'b00};
  wire [33:0] least_variance = 34'(RtoLeastMs) * 34'd1000;
  wire [10:0] rest = {rest_q[9:0], total_q[35]};
  wire fits = rest >= Thousand;
  wire [33:0] three = 34'({rttvar_q, 1'b0}) + 34'(rttvar_q) + 34'(deviation_q);

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: begin
        rtt_q <= micros_i == '0 ? 32'd1 : micros_i;
        if (valid_i) state_q <= Deviate;
      end
      Deviate: begin
        deviation_q <= srtt_q > rtt_q ? srtt_q - rtt_q : rtt_q - srtt_q;
        sum_q       <= {srtt_q, 3'b000} - 35'(srtt_q) + 35'(rtt_q);
        state_q     <= Smooth;
      end
      Smooth: begin
        srtt_q   <= srtt_q == '0 ? rtt_q : sum_q[34:3] == '0 ? 32'd1 : sum_q[34:3];
        rttvar_q <= srtt_q == '0 ? {1'b0, rtt_q[31:1]} : three[33:2];
        state_q  <= Sum;
      end
      Sum: begin
        total_q <= 36'(srtt_q) + 36'(variance > least_variance ? variance : least_variance) + 36'd999;
        rest_q  <= '0;
        bit_q   <= '0;
        state_q <= Divide;
      end
      default: begin
        rest_q  <= fits ? rest - Thousand : rest;
        total_q <= {total_q[34:0], fits};
        bit_q   <= bit_q + 6'd1;
        if (bit_q == 6'd36) begin
          state_q   <= Idle;
          rest_q    <= '0;
          sampled_o <= 1'b1;
          rto_o     <= total_q > 36'(RtoMostMs) ? RtoMostMs[16:0] : total_q[16:0];
        end
      end
    endcase
    if (!rst_ni) begin
      state_q   <= Idle;
      srtt_q    <= '0;
      rttvar_q  <= '0;
      sampled_o <= 1'b0;
      rto_o     <= '0;
    end
  end
endmodule
