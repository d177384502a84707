// From the gate to the wire: the MAC, and the stamper that sees its bytes. What is stamped is known only after
// a frame has begun, so the stamper cannot precede the MAC. The FCS includes what it writes, so it cannot
// follow it either.
//
//   gate ──► mac_tx_gmii ──► wire
//              byte │ ▲
//                   ▼ │
//                 stamper ◄── time, lateness, two cycles after the start
module transmit_gmii
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
    output logic [7:0]  txd_o,
    output logic        tx_en_o,
    output logic        tx_er_o,
    output logic        sent_o,
    output logic        underrun_o
);
  logic inside_q, step;
  logic [7:0] plain, stamped;
  wire take = valid_i && ready_o;

  always_ff @(posedge clk_i) begin
    if (take) inside_q <= !beat_i.last;
    if (!rst_ni) inside_q <= 1'b0;
  end

  stamper stamping (
      .clk_i,
      .rst_ni,
      .start_i(take && !inside_q),
      .stamp_i,
      .time_i,
      .late_i,
      .step_i (step),
      .byte_i (plain),
      .byte_o (stamped)
  );

  mac_tx_gmii mac (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .beat_i,
      .step_o(step),
      .byte_o(plain),
      .byte_i(stamped),
      .txd_o,
      .tx_en_o,
      .tx_er_o,
      .sent_o,
      .underrun_o
  );
endmodule
