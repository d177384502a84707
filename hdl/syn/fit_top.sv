// What `make synth` measures: the module between registers, with few enough pins for the package. Everything wide comes in through one shift
// register and goes out through another, so nothing can be optimised away, and no path ends in a pin. This is no design for a board.
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
    logic        write;
    logic        read;
    logic [12:0] address;
    logic [31:0] data;
    logic        live_valid;
    departure_t  departure;
    beat_t       beat;
    logic        use_valid;
    logic [11:0] used;
    logic        grant_ready;
    logic        mark_valid;
    logic [15:0] mark;
    logic        marked_ready;
  } in_t;

  typedef struct packed {
    logic        read_valid;
    logic [31:0] data;
    logic        live_ready;
    logic        use_refused;
    logic        grant_valid;
    logic [11:0] grant;
    logic        mark_ready;
    logic        marked_valid;
    logic [15:0] marked;
    logic        forget_done;
    logic        release_valid;
    release_t    released;
  } out_t;

  in_t  in_shift_q, in_q;
  out_t out_q, out_shift_q, out;
  logic rst_nq, rx_dv_q, rx_er_q;
  logic [7:0] rxd_q;

  always_ff @(posedge clk_i) begin
    rst_nq      <= rst_ni;
    in_shift_q  <= {in_shift_q[$bits(in_t)-2:0], shift_i};
    if (load_i) in_q <= in_shift_q;
    out_q       <= out;
    out_shift_q <= load_i ? out_q : {out_shift_q[$bits(out_t)-2:0], 1'b0};
    rxd_q       <= rxd_i;
    rx_dv_q     <= rx_dv_i;
    rx_er_q     <= rx_er_i;
  end
  assign shift_o = out_shift_q[$bits(out_t)-1];

  tare_module dut (
      .clk_i,
      .rst_ni          (rst_nq),
      .txd_o,
      .tx_en_o,
      .tx_er_o,
      .rxd_i           (rxd_q),
      .rx_dv_i         (rx_dv_q),
      .rx_er_i         (rx_er_q),
      .write_i         (in_q.write),
      .read_i          (in_q.read),
      .address_i       (in_q.address),
      .data_i          (in_q.data),
      .read_valid_o    (out.read_valid),
      .data_o          (out.data),
      .live_valid_i    (in_q.live_valid),
      .live_ready_o    (out.live_ready),
      .live_departure_i(in_q.departure),
      .live_beat_i     (in_q.beat),
      .use_valid_i     (in_q.use_valid),
      .use_i           (in_q.used),
      .use_refused_o   (out.use_refused),
      .grant_valid_o   (out.grant_valid),
      .grant_ready_i   (in_q.grant_ready),
      .grant_o         (out.grant),
      .mark_valid_i    (in_q.mark_valid),
      .mark_ready_o    (out.mark_ready),
      .mark_i          (in_q.mark),
      .marked_valid_o  (out.marked_valid),
      .marked_ready_i  (in_q.marked_ready),
      .marked_o        (out.marked),
      .forget_done_o   (out.forget_done),
      .release_valid_o (out.release_valid),
      .release_o       (out.released)
  );
endmodule
