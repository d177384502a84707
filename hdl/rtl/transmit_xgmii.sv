// From the gate to the wire at 10 Gb/s: the MAC, and the stamper through which its beats pass. Like
// transmit_gmii, with beats instead of bytes.
//
//   gate ──► mac_tx_xgmii ──► wire
//              beat │ ▲ four cycles later
//                   ▼ │
//             stamper_beats ◄── time, lateness, two cycles after the start
module transmit_xgmii
  import tare_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        valid_i,
    output logic        ready_o,
    input  beat_t       beat_i,
    input  stamp_t      stamp_i,  // of the frame, with its first beat
    // Of a start two cycles ago.
    input  logic [59:0] time_i,
    input  ticks_t      late_i,
    output logic [63:0] txd_o,
    output logic [7:0]  txc_o,
    output logic        sent_o,
    output logic        underrun_o
);
  logic inside_q, step;
  logic [63:0] plain, stamped;
  wire take = valid_i && ready_o;

  always_ff @(posedge clk_i) begin
    if (take) inside_q <= !beat_i.last;
    if (!rst_ni) inside_q <= 1'b0;
  end

  stamper_beats stamping (
      .clk_i,
      .rst_ni,
      .start_i(take && !inside_q),
      .stamp_i,
      .time_i,
      .late_i,
      .step_i (step),
      .data_i (plain),
      .data_o (stamped)
  );

  mac_tx_xgmii #(
      .Turn(4)
  ) mac (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .beat_i,
      .step_o(step),
      .data_o(plain),
      .data_i(stamped),
      .txd_o,
      .txc_o,
      .sent_o,
      .underrun_o
  );
endmodule
