// Sums of bodies: what the body of each template's response must be, if that is known. The host writes it, or
// with `same` the first response that is as expected says it.
module session_sums
  import session_engine_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    // The host, before a load starts.
    input  logic        write_i,
    input  template_t   write_place_i,
    input  logic [31:0] write_sum_i,
    // The template of a response, and two cycles later whether its sum is known.
    input  template_t   template_i,
    output logic        known_o,
    output logic [31:0] sum_o,
    input  logic        learn_i,
    input  logic [31:0] learn_sum_i
);
  logic [31:0] of_template[64];
  logic [63:0] known_q;
  logic fetched_known_q;
  logic [31:0] fetched_sum_q;
  wire template_t place = write_i ? write_place_i : template_i;

  always_ff @(posedge clk_i) begin
    if (write_i || learn_i) begin
      of_template[place]    <= write_i ? write_sum_i : learn_sum_i;
      known_q[place] <= 1'b1;
    end
    fetched_known_q <= known_q[template_i];
    fetched_sum_q   <= of_template[template_i];
    known_o         <= fetched_known_q;
    sum_o           <= fetched_sum_q;
    if (!rst_ni) known_q <= '0;
  end
endmodule
