// In place of session_step: takes any time and makes anything; its outputs have no driver.
module session_step
  import tcp_spec_pkg::*;
  import session_pkg::*;
(
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     valid_i,
    output logic     ready_o,
    input  session_t record_i,
    input  event_t   event_i,
    input  path_t    path_i,
    input  time_t    now_i,
    output logic     valid_o,
    output session_t record_o,
    output segment_t segment_o,
    output notices_t notices_o
);
endmodule
