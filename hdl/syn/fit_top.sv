// The design that `make synth` measures: the module between registers, with few enough pins for the package. Wide inputs come from a shift
// register, and wide outputs leave as their parity, so nothing is optimised away and no path ends at a pin. It is not meant for a board.
module fit_top
  import tare_pkg::*;
(
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       shift_i,
    input  logic       load_i,
    output logic       shift_o,
    output logic [7:0] txd_o,
    output logic       tx_en_o,
    output logic       tx_er_o,
    input  logic [7:0] rxd_i,
    input  logic       rx_dv_i,
    input  logic       rx_er_i
);
  typedef struct packed {
    logic   host_valid;
    heard_t host_beat;
    logic   host_ready;
    logic   wire_up;
  } in_t;

  typedef struct packed {
    logic  host_valid;
    beat_t host_beat;
    logic  host_ready;
  } out_t;

  in_t  in_shift_q, in_q;
  out_t out_q, out;
  // The parity, in two steps.
  localparam int unsigned Parts = ($bits(out_t) + 15) / 16;
  wire [16*Parts-1:0] all = (16 * Parts)'(out_q);
  logic [Parts-1:0] parts_q;
  logic rst_nq, rx_dv_q, rx_er_q;
  logic [7:0] rxd_q;

  always_ff @(posedge clk_i) begin
    rst_nq      <= rst_ni;
    in_shift_q  <= {in_shift_q[$bits(in_t)-2:0], shift_i};
    if (load_i) in_q <= in_shift_q;
    out_q       <= out;
    for (int unsigned i = 0; i < Parts; i++) parts_q[i] <= ^all[16*i+:16];
    shift_o     <= ^parts_q;
    rxd_q       <= rxd_i;
    rx_dv_q     <= rx_dv_i;
    rx_er_q     <= rx_er_i;
  end
  tare_module dut (
      .clk_i,
      .rst_ni      (rst_nq),
      .txd_o,
      .tx_en_o,
      .tx_er_o,
      .rxd_i       (rxd_q),
      .rx_dv_i     (rx_dv_q),
      .rx_er_i     (rx_er_q),
      .host_valid_i(in_q.host_valid),
      .host_ready_o(out.host_ready),
      .host_beat_i (in_q.host_beat),
      .host_valid_o(out.host_valid),
      .host_ready_i(in_q.host_ready),
      .host_beat_o (out.host_beat),
      .wire_up_i   (in_q.wire_up),
      .quiet_o     ()
  );
endmodule
