// The top module of the simulation process. Every port is one number, so main.cpp need not know packed structs.
module module_sim
  import tare_pkg::*;
#(
    parameter logic [31:0] Build = '0
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic [7:0]  txd_o,
    output logic        tx_en_o,
    output logic        tx_er_o,
    input  logic [7:0]  rxd_i,
    input  logic        rx_dv_i,
    input  logic        wire_up_i,
    input  logic        host_valid_i,
    output logic        host_ready_o,
    input  logic [63:0] host_data_i,
    input  logic [2:0]  host_final_i,
    input  logic        host_last_i,
    output logic        host_valid_o,
    input  logic        host_ready_i,
    output logic [63:0] host_data_o,
    output logic [2:0]  host_final_o,
    output logic        host_last_o,
    output logic        quiet_o
);
  heard_t from_host;
  beat_t to_host;

  assign from_host = '{first: 1'b0, last: host_last_i, final_byte: host_final_i, bad: 1'b0, data: host_data_i};
  assign {host_last_o, host_final_o, host_data_o} = {to_host.last, to_host.final_byte, to_host.data};

  tare_module #(
      .Build(Build)
  ) dut (
      .clk_i,
      .rst_ni,
      .txd_o,
      .tx_en_o,
      .tx_er_o,
      .rxd_i,
      .rx_dv_i,
      .rx_er_i     (1'b0),
      .host_valid_i,
      .host_ready_o,
      .host_beat_i (from_host),
      .host_valid_o,
      .host_ready_i,
      .host_beat_o (to_host),
      .wire_up_i,
      .quiet_o
  );
endmodule
